// A replay: the playhead, its frames and the stage, driven by commands and by
// time that is given to it.
//
//   keys -> Do(), a clock -> Advance(), then Lines() for the terminal
//
// Every drawn frame is exact. If frames take longer than real time allows, the
// replay is slower, and skips none of the trace.
// Thread: one.
#ifndef COUNTRACE_VIEWER_REPLAY_PLAYER_H_
#define COUNTRACE_VIEWER_REPLAY_PLAYER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/replay/playhead.h"
#include "viewer/replay/stage.h"

namespace countrace::viewer {

enum class ReplayCommand : std::uint8_t {
  kNone,
  kPlayBack,   // J
  kPause,      // K
  kPlay,       // L
  kPlayPause,  // Space: in the direction of before
  kNext,       // . any boundary
  kPrevious,
  kNextHook,  // > a segment or a hook
  kPreviousHook,
  kFaster,
  kSlower,
  kBegin,
  kEnd,
  kLoop,
  kSkipIdle,
  kQuit
};

// The command of the key that `input` begins with, which is not empty; `used`
// is set to its length, 0 if a longer input may be a key.
ReplayCommand CommandOf(std::string_view input, std::size_t& used);

class Player {
 public:
  // `index` must outlive it.
  Player(const TimelineIndex& index, const Playhead& playhead,
         std::string shown_as);

  Playhead& playhead() { return playhead_; }
  void set_skip_idle(bool skip) { skip_idle_ = skip; }
  void Do(ReplayCommand command);
  void Advance(std::uint64_t elapsed_ns);
  std::vector<std::string> Lines(StageSize size, bool color);

 private:
  void Step(bool forward, std::uint32_t kinds, const char* what);
  void SkipIdle();

  const TimelineIndex& index_;
  Playhead playhead_;
  Stage stage_;
  std::string note_;
  bool skip_idle_ = false;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_PLAYER_H_
