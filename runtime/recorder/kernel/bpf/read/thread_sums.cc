#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/kernel/bpf/load/bpf_error.h"
#include "runtime/recorder/kernel/bpf/programs/thread_sums.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/thread_times.h"
#include "thread_sums.skel.h"

namespace countrace::runtime {
namespace {

class BpfThreadSums {
 public:
  ~BpfThreadSums() { thread_sums__destroy(skeleton_); }

  absl::Status Begin() {
    const KeptWarnings kept;
    skeleton_ = thread_sums__open_and_load();
    int error = errno;
    if (skeleton_ != nullptr) {  // without memory for its variables: no bss
      error =
          skeleton_->bss == nullptr ? ENOMEM : -thread_sums__attach(skeleton_);
    }
    if (error != 0) return BpfError(error, "Cannot load BPF programs");
    SleepNs(1'000'000);  // so that a CPU has a switch, which sets has_quotas
    return absl::OkStatus();
  }

  // A state that ends meanwhile is in neither of the two parts, so that no time
  // is added twice; the next reading has it.
  absl::StatusOr<ThreadSums> Read() {
    const std::uint64_t now_ns = MonotonicNs();
    std::uint64_t ns[COUNTRACE_STATES] = {}, no_room = 0, run_ns = 0;
    for (int i = 0; i < COUNTRACE_SUMMED_CPUS; ++i) {
      const countrace_cpu_sums cpu = skeleton_->bss->cpus[i];
      if (cpu.switches == 0) continue;
      Raise(absl::StrFormat("countrace_on_cpu_seconds_total{cpu=\"%d\"}", i),
            cpu.on_cpu_ns + (cpu.on_cpu_ns < 0 ? now_ns : 0));
      for (int state = 0; state < COUNTRACE_STATES; ++state) {
        ns[state] += cpu.ended_ns[state];
      }
      no_room += cpu.no_room;
      run_ns += cpu.run_ns;
    }
    std::uint32_t count = COUNTRACE_SUMMED_THREADS, place = 0;
    const int error = bpf_map_lookup_batch(bpf_map__fd(skeleton_->maps.threads),
                                           nullptr, &place, keys_.data(),
                                           states_.data(), &count, nullptr);
    if (error != 0 && error != -ENOENT) {  // ENOENT: these were all
      return base::ErrnoStatus(-error, "Cannot read the states of threads");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t since_ns = states_[i] >> 3;
      if (since_ns < now_ns) ns[states_[i] & 7] += now_ns - since_ns;
    }
    const std::string blocked = "countrace_blocked_seconds_total{state=\"";
    Raise(blocked + "interruptible\"}", ns[COUNTRACE_INTERRUPTIBLE]);
    Raise(blocked + "uninterruptible\"}", ns[COUNTRACE_UNINTERRUPTIBLE]);
    Raise(blocked + "other\"}", ns[COUNTRACE_OTHER]);
    Raise("countrace_run_queue_wait_seconds_total",
          ns[COUNTRACE_WAITS] + ns[COUNTRACE_THROTTLED]);
    if (skeleton_->bss->has_quotas != 0) {
      Raise("countrace_throttled_seconds_total", ns[COUNTRACE_THROTTLED]);
    }
    Raise("countrace_own_cpu_seconds_total{part=\"kernel\"}", run_ns);
    last_["countrace_discarded_events_total{cause=\"no_room\"}"] =
        static_cast<double>(no_room);
    return last_;
  }

 private:
  void Raise(const std::string& series, std::uint64_t ns) {
    const auto signed_ns = static_cast<std::int64_t>(ns);  // -: behind now_ns
    last_[series] = std::max(last_[series], 1e-9 * double(signed_ns));
  }

  thread_sums* skeleton_ = nullptr;
  std::vector<std::uint64_t> keys_ =
      std::vector<std::uint64_t>(COUNTRACE_SUMMED_THREADS);
  std::vector<std::uint64_t> states_ = keys_;
  ThreadSums last_;
};

}  // namespace

absl::StatusOr<ThreadSumsReader> OpenThreadSums() {
  const auto sums = std::make_shared<BpfThreadSums>();
  if (absl::Status begun = sums->Begin(); !begun.ok()) return begun;
  return ThreadSumsReader([sums] { return sums->Read(); });
}

}  // namespace countrace::runtime
