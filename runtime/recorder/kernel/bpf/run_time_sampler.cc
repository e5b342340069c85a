#include "runtime/recorder/kernel/bpf/run_time_sampler.h"

#include <bpf/bpf.h>

namespace countrace::runtime {

void RunTimeSampler::Open(std::uint64_t now_ns) {
  statistics_ = base::ScopedFd(bpf_enable_stats(BPF_STATS_RUN_TIME));
  window_begin_ns_ = now_ns;
}

void RunTimeSampler::Close(std::uint64_t now_ns) {
  if (!statistics_.is_open()) return;
  statistics_ = base::ScopedFd();
  sampled_ns_ += now_ns - window_begin_ns_;
}

void RunTimeSampler::Begin(std::uint64_t now_ns) {
  begin_ns_ = end_ns_ = now_ns;
  Open(now_ns);
}

void RunTimeSampler::Turn(std::uint64_t now_ns) {
  Close(now_ns);
  if (++turns_ % kEvery == 0) Open(now_ns);
}

void RunTimeSampler::End(std::uint64_t now_ns) {
  Close(now_ns);
  end_ns_ = now_ns;
}

std::uint64_t RunTimeSampler::estimated_ns() const {
  if (sampled_ns_ == 0) return 0;
  const double share = static_cast<double>(end_ns_ - begin_ns_) /
                       static_cast<double>(sampled_ns_);
  return static_cast<std::uint64_t>(
      static_cast<double>(programs_.run_time_ns()) * share);
}

}  // namespace countrace::runtime
