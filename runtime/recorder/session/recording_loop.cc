#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "runtime/recorder/events/rotation_schedule.h"
#include "runtime/recorder/session/recording.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kProgressNs = 100 * kMillisecond;
// What a backlog leaves free lies between what is in use, in the middle of the
// heap: of itself malloc returns only its end to the system.
constexpr std::uint64_t kTrimNs = 10'000 * kMillisecond;
// While less is recorded so that it costs less: each pass has its price. Until
// then rings of this size have room (kernel_recorder_bpf.cc).
constexpr std::uint64_t kThinnedDrainNs = 80 * kMillisecond;
constexpr std::uint64_t kThinnedRingBytes = 8 << 20;

}  // namespace

std::vector<pollfd> Recording::PollSet() const {
  std::vector<pollfd> set;
  set.push_back({.fd = signals_.descriptor(), .events = POLLIN, .revents = 0});
  set.push_back({.fd = command_ != nullptr ? command_->descriptor() : -1,
                 .events = POLLIN,
                 .revents = 0});
  set.push_back({.fd = invitation_ ? invitation_->descriptor() : -1,
                 .events = POLLIN,
                 .revents = 0});
  if (kernel_ != nullptr) {
    for (const int fd : kernel_->WakeDescriptors()) {
      set.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
  }
  return set;
}

// Triggers look, programs that were invited join, and a flight recording makes
// room as often as rings are read: at the interval at which event sets rotate,
// too.
std::uint64_t Recording::DrainNs() const {
  if (kernel_ == nullptr) return KernelRecorder::kDrainNs;
  const std::size_t sets = kernel_->choice().set_sizes.size();
  if (sets != 0) {
    return std::min(KernelRecorder::kDrainNs,
                    options_.rotate_ns.value_or(RotateNs(sets)));
  }
  if (budget_ && budget_->thinning() != Thinning::kNothing &&
      kernel_->statistics().ring_bytes >= kThinnedRingBytes) {
    return kThinnedDrainNs;
  }
  if (watcher_ || flight_ || invitation_) return KernelRecorder::kDrainNs;
  return kernel_->drain_ns();
}

void Recording::Drain() {
  // The time before: older records are in the streams afterwards.
  const std::uint64_t now_ns = MonotonicNs();
  if (kernel_ != nullptr) {
    kernel_->Drain();
    started_.Add(kernel_->TakePrograms());
  }
  AnswerDumpRequests();
  // Before the oldest records are overwritten.
  if (watcher_) {
    watcher_->OnTime(now_ns);
    watcher_->Look(now_ns, flight_ ? &*flight_ : nullptr);
  }
  if (flight_) flight_->Keep(now_ns);
  if (budget_) KeepBudget();
}

// Whether a process of another pid namespace may have joined since the last
// call: it may end soon.
bool Recording::JoinedElsewhere() {
  const std::uint32_t joined =
      session_.control().processes_joined.load(std::memory_order_relaxed);
  if (std::exchange(joined_seen_, joined) == joined) return false;
  const std::vector<std::uint64_t> owners = session_.JoinedProcesses();
  return std::any_of(owners.begin(), owners.end(),
                     [](std::uint64_t owner) { return owner >> 32 != 0; });
}

// Without BPF no record says what programs run, nor which numbers threads of
// other pid namespaces have there.
void Recording::LookAtPrograms() {
  if (!preloaded_ || (kernel_ != nullptr && kernel_->reports_programs())) {
    return;
  }
  for (const std::int32_t pid : started_.AddRunning(command_->pid())) {
    if (kernel_ != nullptr) thread_ids_.AddProcess(pid);
  }
}

void Recording::TakeSignals() {
  while (const std::optional<StopSignal> signal = signals_.Take()) {
    if (watcher_ && watcher_->OnSignal(signal->number, MonotonicNs())) continue;
    if (signal->number == SIGUSR1) {
      TakeSnapshot({});
      continue;
    }
    ++signals_taken_;
    // Possible outcomes: no command: stop. First signal: the command ends by it
    // (the terminal sends it there too; else we pass it on) and we wait for it.
    // Second signal: stop now; the command continues.
    // With --wait-all the command may have ended.
    if (command_ == nullptr || result_.command_usage || signals_taken_ > 1) {
      stop_ = true;
    } else if (signal->from_process) {
      command_->Signal(signal->number);
    }
  }
}

void Recording::Run() {
  std::vector<pollfd> set = PollSet();
  // All is attached and invited: the duration counts from here.
  const std::uint64_t end_ns =
      options_.duration_ns == 0 ? ~0ull : MonotonicNs() + options_.duration_ns;
  std::uint64_t next_drain = begin_ns_ + DrainNs();
  std::uint64_t next_progress = begin_ns_ + kProgressNs;
  std::uint64_t next_trim = begin_ns_ + kTrimNs;
  bool ended = false;  // the command, and what it started if that is awaited
  while (!stop_ && !ended) {
    std::uint64_t now = MonotonicNs();
    // Without pidfds (Linux before 5.3) the loop polls for the command's end,
    // so its waits must be short then.
    std::uint64_t wake =
        kernel_ != nullptr || flight_ || watcher_ || set[1].fd < 0
            ? next_drain
            : next_progress;
    wake = std::min({wake, end_ns, next_clock_ns_});
    const std::uint64_t wait = wake > now ? wake - now : 0;
    const timespec timeout{.tv_sec = static_cast<time_t>(wait / 1'000'000'000),
                           .tv_nsec = static_cast<long>(wait % 1'000'000'000)};
    for (pollfd& entry : set) entry.revents = 0;
    ppoll(set.data(), set.size(), &timeout, nullptr);
    bool ring_half_full = false;
    for (std::size_t i = 3; i < set.size(); ++i) {
      ring_half_full |= (set[i].revents & POLLIN) != 0;
      // An event of a CPU that went offline would be "ready" for ever.
      if ((set[i].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
        set[i].fd = -1;
      }
    }
    if (set[0].revents != 0) TakeSignals();
    if (invitation_) invitation_->InviteNew();
    if (command_ != nullptr && !result_.command_usage &&
        (set[1].fd < 0 || set[1].revents != 0)) {
      if (const std::optional<int> status = command_->TryWait()) {
        set[1].fd = -1;
        ended = !options_.wait_all;
        result_.command_status = *status;
        result_.command_ns = MonotonicNs() - command_begin_ns_;
        result_.command_usage = command_->usage();
      }
    }
    now = MonotonicNs();
    stop_ |= now >= end_ns;
    if (now >= next_clock_ns_) SampleClocks();
    if (now >= next_drain && !options_.pids.empty() &&
        std::none_of(options_.pids.begin(), options_.pids.end(),
                     IsProcessAlive)) {
      stop_ = true;
    }
    if (ring_half_full || now >= next_drain) {
      Drain();
      next_drain = now + DrainNs();
      if (JoinedElsewhere()) LookAtPrograms();
    }
    if (watcher_) ActOn(watcher_->TakeDue(MonotonicNs()));
    if (now >= next_trim) {
      malloc_trim(0);
      next_trim = now + kTrimNs;
    }
    if (now >= next_progress) {
      if (result_.command_usage) ended |= ProcessesOfCommand({}).empty();
      if (options_.progress) {
        options_.progress(directory_.DiskBytes(), now - begin_ns_);
      }
      next_progress = now + kProgressNs;
      LookAtPrograms();
      // It may have joined another cgroup.
      if (command_ != nullptr && !result_.command_usage)
        quotas_.Watch(command_->pid(), /*late=*/true);
    }
  }
  if (options_.ended) options_.ended();
  if (watcher_) {
    // The last records, and waiting triggers.
    Drain();
    ActOn(watcher_->TakeAll());
  }
}

}  // namespace countrace::runtime
