// The indexes that a server answers from: the whole trace's, and while that is
// built those of its first parts. Numbers of rows and names belong to one
// index, so a page names the index of its questions, and every one that was
// published stays.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_API_SERVED_INDEXES_H_
#define COUNTRACE_VIEWER_SERVER_API_SERVED_INDEXES_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "logformat/progress.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/open/recorded_bytes.h"

namespace countrace::viewer {

class ServedIndexes {
 public:
  // The newest from here on. Requires: not null. `recorded`: of the whole
  // trace, if the index is of a part; null: it stays as it was.
  void Publish(std::shared_ptr<const TimelineIndex> index,
               std::shared_ptr<const RecordedBytes> recorded = nullptr);
  // The same of a recording that goes on, which had this index `now`. Of these,
  // those that no request has named for two minutes are dropped.
  using Clock = std::chrono::steady_clock;
  void PublishLive(std::shared_ptr<const TimelineIndex> index,
                   Clock::time_point now);
  // How far the index is that is being built.
  void SetProgress(const logformat::Progress& progress);

  // There will be no index of the whole trace. From here on nothing is
  // answered, since what was published may be of another trace than the one
  // that is there now.
  void Fail(const absl::Status& status);

  struct Growth {
    std::shared_ptr<const TimelineIndex> newest;    // null: none yet
    std::shared_ptr<const RecordedBytes> recorded;  // null: no part was built
    // The recording goes on; then it is that of this instant.
    bool live = false;
    Clock::time_point live_at;
    logformat::Progress progress;
    absl::Status failure;  // of the whole trace's index
  };
  Growth growth() const;
  // The index that a request names; empty: the whole trace's, or the newest of
  // a recording that goes on. Null: not there.
  std::shared_ptr<const TimelineIndex> Find(std::string_view id) const;

 private:
  struct Served {
    std::shared_ptr<const TimelineIndex> index;
    Clock::time_point used;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Served> indexes_;
  bool live_ = false;
  Clock::time_point live_at_;
  std::shared_ptr<const RecordedBytes> recorded_;
  logformat::Progress progress_;
  absl::Status failure_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_SERVED_INDEXES_H_
