#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "logformat/description/trace_description.h"
#include "logformat/repair/trace_snapshot.h"
#include "runtime/recorder/session/recording.h"

namespace countrace::runtime {

using logformat::TriggerFiring;

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
  if (!kernel_began_) return 0;
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
  control.dumped_ns.store(DumpForSnapshot(), std::memory_order_relaxed);
  control.dumps_answered.store(requests, std::memory_order_release);
}

// Writes it beside the trace, under the first free name TRACE.snapshot-N.
void Recording::TakeSnapshot(const std::vector<TriggerFiring>& reasons) {
  const logformat::SnapshotContent content{reasons, DumpForSnapshot()};
  for (int number = 1;; ++number) {
    const std::string path =
        absl::StrFormat("%s.snapshot-%d", directory_.path(), number);
    const auto taken =
        logformat::SnapshotTrace(directory_.path(), path, content);
    if (absl::IsAlreadyExists(taken.status())) continue;
    if (taken.ok()) {
      result_.snapshots.push_back(path);
      Notice("snapshot: " + path);
    } else {
      result_.messages.push_back(
          absl::StrFormat("No snapshot: %s", base::StatusText(taken.status())));
    }
    return;
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
    if (triggers_noted_++ >= kMostNoted) return;
    file << logformat::TriggerText(reason) << '\n';
  }
}

void Recording::ActOn(const DueTriggers& due) {
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
