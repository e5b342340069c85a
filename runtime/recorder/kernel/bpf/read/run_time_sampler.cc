#include "runtime/recorder/kernel/bpf/read/run_time_sampler.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <fstream>

namespace countrace::runtime {

void RunTimeSampler::Open(std::uint64_t now_ns) {
  statistics_ = base::ScopedFd(bpf_enable_stats(BPF_STATS_RUN_TIME));
  window_begin_ns_ = now_ns;
  run_before_ns_ = programs_.run_time_ns();
}

void RunTimeSampler::Close(std::uint64_t now_ns) {
  if (!statistics_.is_open() && !measures()) return;
  statistics_ = base::ScopedFd();
  const std::uint64_t window_ns = now_ns - window_begin_ns_;
  if (window_ns == 0) return;
  sampled_ns_ += window_ns;
  const std::uint64_t run_ns = programs_.run_time_ns();
  last_share_ = static_cast<double>(run_ns - std::min(run_ns, run_before_ns_)) /
                static_cast<double>(window_ns);
  estimated_ns_ +=
      last_share_ * static_cast<double>(now_ns - estimated_until_ns_);
  estimated_until_ns_ = now_ns;
}

void RunTimeSampler::Begin(std::uint64_t now_ns) {
  estimated_until_ns_ = end_ns_ = now_ns;
  Open(now_ns);
}

bool RunTimeSampler::measures() const {
  if (!always_) return false;
  int enabled = 0;
  return statistics_.is_open() ||
         (std::ifstream("/proc/sys/kernel/bpf_stats_enabled") >> enabled &&
          enabled != 0);
}

void RunTimeSampler::Pass(std::uint64_t now_ns) {
  if (always_) return;
  Close(now_ns);
  end_ns_ = now_ns;
  if (++passes_ != next_) return;
  Open(now_ns);
  distance_ = std::min(2 * distance_, kLongest);
  next_ += distance_;
}

void RunTimeSampler::End(std::uint64_t now_ns) {
  Close(now_ns);
  end_ns_ = now_ns;
}

std::uint64_t RunTimeSampler::estimated_ns() const {
  return static_cast<std::uint64_t>(
      estimated_ns_ +
      last_share_ * static_cast<double>(end_ns_ - estimated_until_ns_));
}

}  // namespace countrace::runtime
