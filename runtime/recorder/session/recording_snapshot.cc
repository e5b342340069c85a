#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "logformat/description/recorded_part.h"
#include "logformat/description/trace_description.h"
#include "logformat/loss.h"
#include "logformat/repair/trace_snapshot.h"
#include "runtime/recorder/session/recording.h"

namespace countrace::runtime {

using logformat::TriggerFiring;

namespace {

std::uint64_t DiskBytesOf(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& file :
       std::filesystem::directory_iterator(directory, error)) {
    struct stat info {};
    if (lstat(file.path().c_str(), &info) == 0) {
      bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
    }
  }
  return bytes;
}

}  // namespace

std::vector<int> Recording::SignalsOf(const std::vector<Trigger>& triggers) {
  std::vector<int> signals = {SIGUSR1};
  for (const Trigger& trigger : triggers) {
    if (trigger.kind != TriggerKind::kSignal ||
        std::find(signals.begin(), signals.end(), trigger.signal) !=
            signals.end()) {
      continue;
    }
    signals.push_back(trigger.signal);
  }
  return signals;
}

void Recording::Notice(const std::string& text) const {
  if (options_.notice) options_.notice(text);
}

std::uint64_t Recording::DumpForSnapshot() {
  SampleClocks();
  if (!kernel_began_) return 0;
  StoreLeftOut();
  const std::uint64_t now_ns = MonotonicNs();
  const absl::Status dumped = kernel_->DumpForSnapshot();
  if (!dumped.ok()) {
    result_.messages.push_back(absl::StrFormat(
        "A snapshot does not have the last counters of every CPU: %s",
        base::StatusText(dumped)));
  }
  return now_ns;
}

// Those of `countrace snapshot`, which copies the streams itself.
void Recording::AnswerDumpRequests() {
  logformat::SessionControl& control = session_.control();
  const std::uint32_t requests =
      control.dump_requests.load(std::memory_order_acquire);
  if (requests == control.dumps_answered.load(std::memory_order_relaxed)) {
    return;
  }
  const std::uint64_t dumped_ns = DumpForSnapshot();
  NoteBounds(dumped_ns);
  control.dumped_ns.store(dumped_ns, std::memory_order_relaxed);
  control.dumps_answered.store(requests, std::memory_order_release);
}

// Whether one of the trace as it is now fits into the limit.
bool Recording::MayTakeSnapshot() {
  constexpr std::uint64_t kLeastLimit = 1 << 30;
  const std::uint64_t limit = options_.snapshot_bytes.value_or(std::max(
      (options_.flight_ns == 0 ? 16 : 1) * options_.max_bytes, kLeastLimit));
  const std::uint64_t more = directory_.DiskBytes();
  const std::uint64_t now_ns = MonotonicNs();
  while (!kept_.empty() &&
         (snapshot_bytes_ + more > limit ||
          now_ns - kept_.front().taken_ns > *options_.keep_ns)) {
    if (const absl::Status gone = RemoveTrace(kept_.front().path); !gone.ok()) {
      // Another program may have moved it: it is not ours any more.
      Notice(base::StatusText(gone));
    }
    std::erase(result_.snapshots, kept_.front().path);
    snapshot_bytes_ -= std::min(snapshot_bytes_, kept_.front().bytes);
    kept_.pop_front();
  }
  if (snapshot_bytes_ + more <= limit) return true;
  if (snapshots_refused_++ == 0) {
    Notice(absl::StrFormat(
        "no further snapshot: those of this recording use %d bytes, and "
        "--snapshots allows %d",
        snapshot_bytes_, limit));
  }
  return false;
}

void Recording::DescribeSnapshots() {
  if (const std::uint64_t refused = watcher_ ? watcher_->pauses_refused() : 0) {
    AddNotRecorded({logformat::Unavailable(
        absl::StrFormat("Pauses behind the first %d, so that what lies in them "
                        "is counted: %d; let a value of the hook decide, or "
                        "pause less often",
                        logformat::kMostPauses, refused),
        refused)});
  }
  if (snapshots_refused_ == 0) return;
  AddNotRecorded({logformat::Unavailable(
      absl::StrFormat("Snapshots that were not taken, because all together "
                      "would have used more disk than allowed: %d; raise "
                      "--snapshots, or remove what is not needed and record "
                      "again",
                      snapshots_refused_),
      snapshots_refused_)});
}

// Writes it beside the trace, under the first free name TRACE.snapshot-N.
void Recording::TakeSnapshot(const std::vector<TriggerFiring>& reasons) {
  if (!MayTakeSnapshot()) return;
  const logformat::SnapshotContent content{reasons, DumpForSnapshot()};
  NoteBounds(content.dumped_ns);
  for (int number = last_snapshot_ + 1;; ++number) {
    const std::string path =
        absl::StrFormat("%s.snapshot-%d", directory_.path(), number);
    const auto taken =
        logformat::SnapshotTrace(directory_.path(), path, content);
    if (absl::IsAlreadyExists(taken.status())) continue;
    if (taken.ok()) {
      last_snapshot_ = number;
      result_.snapshots.push_back(path);
      const std::uint64_t bytes = DiskBytesOf(path);
      snapshot_bytes_ += bytes;
      if (options_.keep_ns) kept_.push_back({path, MonotonicNs(), bytes});
      Notice("snapshot: " + path);
    } else {
      AddNotRecorded({logformat::Unavailable(absl::StrFormat(
          "No snapshot: %s", base::StatusText(taken.status())))});
    }
    return;
  }
}

// A snapshot copies what bounds its tables. `dumped_ns`: those of the kernel
// until then are in its streams; 0: there are none.
void Recording::NoteBounds(std::uint64_t dumped_ns) {
  if (!watcher_) return;
  watcher_->Look(dumped_ns != 0 ? dumped_ns : MonotonicNs(),
                 flight_ ? &*flight_ : nullptr);
  if (const auto bounds = watcher_->TakeBounds(); !bounds.empty()) {
    NoteTriggers(bounds);
  }
}

// Adds them to the description of the whole trace.
void Recording::NoteTriggers(const std::vector<TriggerFiring>& reasons) {
  constexpr std::size_t kMostNoted = 256;
  const std::string path = directory_.path() + "/" + logformat::kTriggersFile;
  // For its mode: other users may pass through the directory.
  const base::ScopedFd made(
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  std::ofstream file(path, std::ios::app);
  for (const TriggerFiring& reason : reasons) {
    if (!logformat::BoundsPart(reason) && triggers_noted_++ >= kMostNoted) {
      return;
    }
    file << logformat::TriggerText(reason) << '\n';
  }
}

void Recording::ActOn(const DueTriggers& due) {
  // A snapshot reads it.
  NoteTriggers(due.bounds);
  if (due.reasons.empty()) return;
  NoteTriggers(due.reasons);
  if (due.stop) {
    // The trace itself takes the place of the snapshot.
    stop_ = true;
    Notice("the recording ends");
    return;
  }
  TakeSnapshot(due.reasons);
}

}  // namespace countrace::runtime
