#include "viewer/server/serve/index_opening.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "logformat/progress.h"
#include "viewer/index/open/open_or_build.h"

namespace countrace::viewer {
namespace {

// From one copy of a running recording to the next.
constexpr std::chrono::milliseconds kLivePace{250};
constexpr int kCopiesInVain = 3;

}  // namespace

IndexOpening::IndexOpening(const ServeOptions& options, ServedIndexes& indexes,
                           TraceEvents& events)
    : indexes_(indexes),
      events_(events),
      failure_time_(options.failure_time),
      thread_([this, &options] { Run(options); }) {}

IndexOpening::~IndexOpening() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::Status IndexOpening::AwaitFirst(bool whole) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ || (!whole && has_part_); });
  return status_;
}

void IndexOpening::StopAfterFailure(std::shared_ptr<HttpServer> server) {
  const std::lock_guard lock(mutex_);
  server_ = std::move(server);
  if (over_) server_->Stop();
}

absl::Status IndexOpening::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

void IndexOpening::Run(const ServeOptions& options) {
  absl::Status status =
      options.next_copy ? FollowRecording(options) : absl::OkStatus();
  if (status.ok()) status = OpenWhole(options);
  if (!status.ok()) indexes_.Fail(status);
  Note(status, true);
  if (!status.ok()) StopServer();
}

absl::Status IndexOpening::OpenWhole(const ServeOptions& options) {
  // What was served of a recording is longer than a first part.
  FirstParts parts = {
      .on_part =
          [this](std::unique_ptr<TimelineIndex> part, RecordedBytes recorded) {
            indexes_.Publish(
                std::move(part),
                std::make_shared<const RecordedBytes>(std::move(recorded)));
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

// An index is of a whole copy, so it comes later the longer the recording is:
// no more than half of the time is spent on them.
absl::Status IndexOpening::FollowRecording(const ServeOptions& options) {
  using Clock = ServedIndexes::Clock;
  for (int failures = 0; !stop_;) {
    const Clock::time_point begin = Clock::now();
    const absl::Status status = ServeCopy(options, begin);
    if (absl::IsFailedPrecondition(status)) break;
    // The files of a recording that is ending shrink while they are copied; a
    // full disk stays full.
    failures = status.ok() ? 0 : failures + 1;
    if (failures > kCopiesInVain) return status;
    const auto took = Clock::now() - begin;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::max<Clock::duration>(kLivePace - took, took),
                      [this] { return stop_.load(); });
  }
  return absl::OkStatus();
}

absl::Status IndexOpening::ServeCopy(const ServeOptions& options,
                                     ServedIndexes::Clock::time_point begin) {
  const auto copy = options.next_copy();
  if (!copy.ok()) return copy.status();
  auto index = OpenOrBuildIndex(
      *copy, [this](const logformat::Progress&) { return !stop_; },
      options.shown_as);
  if (absl::IsFailedPrecondition(index.status())) {
    return absl::AbortedError(index.status().message());
  }
  if (!index.ok()) return index.status();
  events_.Follow(*copy);
  indexes_.PublishLive(*std::move(index), begin);
  Note(absl::OkStatus(), false);
  return absl::OkStatus();
}

void IndexOpening::Note(absl::Status status, bool done) {
  const std::lock_guard lock(mutex_);
  status_ = std::move(status);
  done_ = done;
  has_part_ = true;
  changed_.notify_all();
}

void IndexOpening::StopServer() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, failure_time_, [this] { return stop_.load(); });
  over_ = true;
  if (server_ != nullptr) server_->Stop();
}

}  // namespace countrace::viewer
