// Opens or builds the index of a trace on a thread of its own, while its first
// parts are served; of a recording that goes on, the indexes of one copy after
// the other.
#ifndef COUNTRACE_VIEWER_SERVER_SERVE_INDEX_OPENING_H_
#define COUNTRACE_VIEWER_SERVER_SERVE_INDEX_OPENING_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "viewer/server.h"
#include "viewer/server/api/served_indexes.h"
#include "viewer/server/http/http_server.h"
#include "viewer/server/http/trace_events.h"

namespace countrace::viewer {

class IndexOpening {
 public:
  // Publishes in `indexes`; `events` follows the trace that is served. The
  // arguments must outlive this object.
  IndexOpening(const ServeOptions& options, ServedIndexes& indexes,
               TraceEvents& events);
  ~IndexOpening();
  IndexOpening(const IndexOpening&) = delete;
  IndexOpening& operator=(const IndexOpening&) = delete;

  // Waits for something to serve; `whole`: for the whole trace. Returns: the
  // error if there will be nothing.
  absl::Status AwaitFirst(bool whole);
  // After a failure, `server` says so for a while, then it is stopped.
  void StopAfterFailure(std::shared_ptr<HttpServer> server);
  absl::Status status();

 private:
  void Run(const ServeOptions& options);
  absl::Status OpenWhole(const ServeOptions& options);
  absl::Status FollowRecording(const ServeOptions& options);
  // The next copy, at `begin`. Returns: FAILED_PRECONDITION there is none.
  absl::Status ServeCopy(const ServeOptions& options,
                         ServedIndexes::Clock::time_point begin);
  void Note(absl::Status status, bool done);
  void StopServer();

  ServedIndexes& indexes_;
  TraceEvents& events_;
  const std::chrono::seconds failure_time_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status status_;
  bool done_ = false, has_part_ = false, over_ = false;
  std::shared_ptr<HttpServer> server_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_SERVE_INDEX_OPENING_H_
