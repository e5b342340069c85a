#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "logformat/progress.h"
#include "viewer/index/open_or_build.h"
#include "viewer/server.h"
#include "viewer/server/serve.h"
#include "viewer/server/served_indexes.h"
#include "viewer/server/source_files.h"
#include "viewer/server/trace_events.h"

namespace countrace::viewer {
namespace {

// From one copy of a running recording to the next.
constexpr std::chrono::milliseconds kLivePace{500};

// Opens or builds the index on a thread of its own, while its first parts are
// served.
class IndexOpening {
 public:
  IndexOpening(const ServeOptions& options, ServedIndexes& indexes,
               TraceEvents& events)
      : indexes_(indexes),
        events_(events),
        failure_time_(options.failure_time),
        thread_([this, &options] { Run(options); }) {}
  ~IndexOpening() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Waits for something to serve. Returns: the error if there will be nothing.
  absl::Status AwaitFirst(bool whole) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ || (!whole && has_part_); });
    return status_;
  }
  // After a failure, `server` says so for a while, then it is stopped.
  void StopAfterFailure(std::shared_ptr<HttpServer> server) {
    const std::lock_guard lock(mutex_);
    server_ = std::move(server);
    if (over_) server_->Stop();
  }
  absl::Status status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  void Run(const ServeOptions& options) {
    absl::Status status =
        options.next_copy ? FollowRecording(options) : absl::OkStatus();
    if (status.ok()) status = OpenWhole(options);
    if (!status.ok()) indexes_.Fail(status);
    Note(status, true);
    if (!status.ok()) StopServer();
  }
  absl::Status OpenWhole(const ServeOptions& options) {
    // What was served of a recording is longer than a first part.
    FirstParts parts = {.on_part =
                            [this](std::unique_ptr<TimelineIndex> part,
                                   std::uint64_t trace_end_ns) {
                              indexes_.Publish(std::move(part), trace_end_ns);
                              Note(absl::OkStatus(), false);
                            },
                        .first_bytes = options.first_part_bytes};
    if (indexes_.growth().live) parts.on_part = nullptr;
    auto index = OpenOrBuildIndex(
        options.trace_path,
        [&](const logformat::Progress& progress) {
          indexes_.SetProgress(progress);
          return !stop_ && (!options.progress || options.progress(progress));
        },
        options.shown_as, parts);
    if (!index.ok()) return index.status();
    events_.Follow(options.trace_path);
    indexes_.Publish(*std::move(index));
    if (options.on_whole) options.on_whole();
    return absl::OkStatus();
  }
  // Serves one copy after the other. An index is of a whole copy, so it comes
  // later the longer the recording is: no more than half of the time is spent
  // on them.
  absl::Status FollowRecording(const ServeOptions& options) {
    using Clock = ServedIndexes::Clock;
    while (!stop_) {
      const Clock::time_point begin = Clock::now();
      const auto copy = options.next_copy();
      if (absl::IsFailedPrecondition(copy.status())) break;
      if (!copy.ok()) return copy.status();
      auto index = OpenOrBuildIndex(
          *copy, [this](const logformat::Progress&) { return !stop_; },
          options.shown_as);
      if (!index.ok()) return index.status();
      events_.Follow(*copy);
      indexes_.PublishLive(*std::move(index), begin);
      Note(absl::OkStatus(), false);
      const auto took = Clock::now() - begin;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::max<Clock::duration>(kLivePace - took, took),
                        [this] { return stop_.load(); });
    }
    return absl::OkStatus();
  }
  void Note(absl::Status status, bool done) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    done_ = done;
    has_part_ = true;
    changed_.notify_all();
  }
  void StopServer() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, failure_time_, [this] { return stop_.load(); });
    over_ = true;
    if (server_ != nullptr) server_->Stop();
  }

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

}  // namespace

absl::Status Serve(const ServeOptions& options) {
  const absl::StatusOr<SourceFiles> sources =
      SourceFiles::Open(options.sources);
  if (!sources.ok()) return sources.status();
  ServedIndexes indexes;
  TraceEvents events(options.trace_path);
  IndexOpening opening(options, indexes, events);
  const bool whole = static_cast<bool>(options.place);
  if (absl::Status first = opening.AwaitFirst(whole); !first.ok()) return first;
  absl::StatusOr<std::string> place = "";
  if (options.place) place = options.place(*indexes.growth().newest);
  if (!place.ok()) return place.status();
  const absl::Status served = ServeIndexes(
      indexes, &events, options.port,
      [&](const std::string& url, std::shared_ptr<HttpServer> server) {
        opening.StopAfterFailure(std::move(server));
        if (options.on_ready) {
          options.on_ready(place->empty() ? url : url + "#" + *place);
        }
      },
      options.sources.empty() ? nullptr : &*sources);
  const absl::Status opened = opening.status();
  return opened.ok() ? served : opened;
}

}  // namespace countrace::viewer
