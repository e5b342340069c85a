#include "runtime/recorder/live/count_live.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/session/command.h"
#include "runtime/recorder/session/stop_signals.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

// Between looks for the end of processes, and of a command without a pidfd.
constexpr std::uint64_t kLookNs = 100'000'000;

class LiveCounting {
 public:
  explicit LiveCounting(const LiveOptions& options)
      : options_(options), signals_({}) {}

  absl::StatusOr<LiveResult> Run() {
    absl::Status status = Start();
    if (!status.ok()) return status;
    std::uint64_t next_ns = begin_ns_ + options_.every_ns;
    while (!stop_) {
      Wait(next_ns);
      Look();
      const std::uint64_t now_ns = MonotonicNs();
      if (now_ns < next_ns && !stop_) continue;
      status = EndInterval();
      if (!status.ok()) return status;
      while (next_ns <= now_ns) next_ns += options_.every_ns;
    }
    return std::move(result_);
  }

 private:
  absl::StatusOr<LiveCounters> OpenCounters() const {
    if (options_.machine) return LiveCounters::OfMachine(options_.events);
    if (!options_.cgroup.empty()) {
      return LiveCounters::OfCgroup(options_.events, options_.cgroup);
    }
    if (!options_.pids.empty()) {
      return LiveCounters::OfProcesses(options_.events, options_.pids);
    }
    return LiveCounters::OfCommand(options_.events, command_->pid());
  }

  absl::Status Start() {
    if (!options_.command.empty()) {
      auto command = Command::Fork(options_.command, {}, signals_);
      if (!command.ok()) return command.status();
      command_ = *std::move(command);
    }
    auto counters = OpenCounters();
    if (!counters.ok()) return counters.status();
    counters_.emplace(*std::move(counters));
    absl::Status refused = LeaveOut();
    if (!refused.ok()) return refused;
    auto before = counters_->Read();
    if (!before.ok()) return before.status();
    last_ = *std::move(before);
    result_.all.counts.resize(last_.size());
    if (options_.begun) options_.begun();
    begin_ns_ = last_ns_ = MonotonicNs();
    if (command_ == nullptr) return absl::OkStatus();
    const absl::Status started = command_->Start();
    result_.command_ran = started.ok();
    return started;
  }

  absl::Status LeaveOut() const {
    std::size_t refused = 0;
    for (std::size_t i = 0; i < options_.events.size(); ++i) {
      const int error = counters_->Refusal(i);
      if (error == 0) continue;
      const std::string why = ExplainOpenError(error);
      if (!options_.left_out || ++refused == options_.events.size()) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "Cannot count %s: %s", options_.events[i].name, why));
      }
      options_.left_out(i, why);
    }
    return absl::OkStatus();
  }

  void Wait(std::uint64_t until_ns) {
    const std::uint64_t now_ns = MonotonicNs();
    std::uint64_t wake_ns = until_ns;
    if (options_.duration_ns != 0) {
      wake_ns = std::min(wake_ns, begin_ns_ + options_.duration_ns);
    }
    const int command = command_ != nullptr ? command_->descriptor() : -1;
    if (!options_.pids.empty() || (command_ != nullptr && command < 0)) {
      wake_ns = std::min(wake_ns, now_ns + kLookNs);
    }
    const std::uint64_t wait_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
    const timespec timeout{
        .tv_sec = static_cast<time_t>(wait_ns / 1'000'000'000),
        .tv_nsec = static_cast<long>(wait_ns % 1'000'000'000)};
    pollfd set[] = {{signals_.descriptor(), POLLIN, 0}, {command, POLLIN, 0}};
    ppoll(set, 2, &timeout, nullptr);
  }

  // Possible outcomes of a signal: as in the recording's loop.
  void Look() {
    while (const std::optional<StopSignal> signal = signals_.Take()) {
      ++signals_taken_;
      if (command_ == nullptr || signals_taken_ > 1) {
        stop_ = true;
      } else if (signal->from_process) {
        command_->Signal(signal->number);
      }
    }
    if (command_ != nullptr) {
      if (const std::optional<int> status = command_->TryWait()) {
        result_.command_status = *status;
        result_.command_usage = command_->usage();
        stop_ = true;
      }
    }
    if (!options_.pids.empty() &&
        std::none_of(options_.pids.begin(), options_.pids.end(),
                     IsProcessAlive)) {
      stop_ = true;
    }
    if (options_.duration_ns != 0 &&
        MonotonicNs() - begin_ns_ >= options_.duration_ns) {
      stop_ = true;
    }
  }

  absl::Status EndInterval() {
    auto now = counters_->Read();
    if (!now.ok()) return now.status();
    const std::uint64_t now_ns = MonotonicNs();
    LiveInterval interval{last_ns_ - begin_ns_, now_ns - begin_ns_, {}};
    for (std::size_t i = 0; i < now->size(); ++i) {
      const LiveCount& a = last_[i];
      const LiveCount& b = (*now)[i];
      const LiveCount part{b.count - a.count, b.enabled_ns - a.enabled_ns,
                           b.running_ns - a.running_ns};
      interval.counts.push_back(part);
      LiveCount& all = result_.all.counts[i];
      all.count += part.count;
      all.enabled_ns += part.enabled_ns;
      all.running_ns += part.running_ns;
    }
    last_ = *std::move(now);
    last_ns_ = now_ns;
    result_.all.end_ns = interval.end_ns;
    if (options_.interval && !options_.interval(interval)) stop_ = true;
    return absl::OkStatus();
  }

  const LiveOptions& options_;
  StopSignals signals_;
  std::unique_ptr<Command> command_;
  std::optional<LiveCounters> counters_;
  std::vector<LiveCount> last_;
  std::uint64_t begin_ns_ = 0, last_ns_ = 0;
  int signals_taken_ = 0;
  bool stop_ = false;
  LiveResult result_;
};

}  // namespace

absl::StatusOr<LiveResult> CountLive(const LiveOptions& options) {
  return LiveCounting(options).Run();
}

}  // namespace countrace::runtime
