// The stage of a replay in the terminal: one frame as lines of text. What was
// on a place stays there while the trace plays: CPUs by number, the most active
// threads and processes each on a line of their own.
//
//   title     where the playhead is, how fast it goes
//   bar       the range, with the playhead; x: records were lost
//   CPUS      the thread on each, the segment it is in
//   THREADS   what they do, since when, inside what
//   PROCESSES with their part of the CPU time just before; COUNTERS
//
// What began in the last quarter of a second shown is bold.
// Thread: one.
#ifndef COUNTRACE_VIEWER_REPLAY_STAGE_H_
#define COUNTRACE_VIEWER_REPLAY_STAGE_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/replay/fixed_places.h"
#include "viewer/replay/frame.h"
#include "viewer/replay/playhead.h"
#include "viewer/replay/stage_layout.h"

namespace countrace::viewer {

class Stage {
 public:
  // `index` must outlive it. `shown_as`: the trace's name for the user.
  Stage(const TimelineIndex& index, std::string shown_as);

  // `size.lines` lines of `size.columns` columns. `note`: what the last key
  // did; else the keys are listed. Requires: at least kLeastStage.
  std::vector<std::string> Draw(const Frame& frame, const Playhead& playhead,
                                const std::string& note, StageSize size,
                                bool color);

  // The threads that have a place: the next frame needs them, whatever they do.
  std::set<std::uint32_t> threads() const;

 private:
  class Drawing;

  const TimelineIndex& index_;
  std::string shown_as_;
  std::vector<std::string> events_;  // their names
  std::set<std::size_t> events_in_turns_;
  std::vector<double> fastest_;  // rate of each event so far
  FixedPlaces threads_, processes_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_STAGE_H_
