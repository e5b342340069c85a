#include "runtime/recorder/kernel/own/own_processes_recorder.h"

#include <unistd.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/recorder/kernel/cpu_streams.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/samples/sample_recorder.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

class OwnProcessesRecorder final : public KernelRecorder {
 public:
  OwnProcessesRecorder(const KernelRecorderOptions& options,
                       std::vector<SampleRequest> requests,
                       std::vector<std::uint32_t> cpus)
      : requests_(std::move(requests)),
        cpus_(std::move(cpus)),
        streams_(options.gating, options.marks),
        points_(std::vector<DynamicHook>()) {
    for (const std::uint32_t cpu : cpus_) streams_.Add(cpu, 0);
  }
  ~OwnProcessesRecorder() override { (void)End(); }

  const EventChoice& choice() const override { return choice_; }
  absl::Status Begin(const KernelRecorderTarget& target) override;
  void Drain() override {
    if (!began_ || ended_) return;
    const std::uint64_t horizon_ns = MonotonicNs();
    streams_.DrainSamples();
    streams_.StoreUntil(horizon_ns);
  }
  // No counters are dumped: a snapshot ends with its records.
  absl::Status DumpForSnapshot() override {
    Drain();
    return absl::OkStatus();
  }
  absl::Status End() override;
  std::vector<int> WakeDescriptors() const override { return {}; }
  KernelRecorderStatistics statistics() const override {
    KernelRecorderStatistics sum;
    streams_.AddStatistics(sum);
    return sum;
  }
  const std::vector<std::string>& messages() const override {
    return messages_;
  }

 private:
  const EventChoice choice_;  // none
  const std::vector<SampleRequest> requests_;
  const std::vector<std::uint32_t> cpus_;
  CpuStreams streams_;
  KernelHookRegistry points_;
  std::vector<std::string> messages_;
  bool began_ = false, ended_ = false;
};

absl::Status OwnProcessesRecorder::Begin(const KernelRecorderTarget& target) {
  std::vector<std::int32_t> tids;
  for (const std::int32_t pid : target.root_pids) {
    for (const ProcessThread& thread : ScanThreadsOf(pid)) {
      tids.push_back(thread.tid);
    }
  }
  if (tids.empty()) {
    return absl::NotFoundError("There is no process to sample");
  }
  auto samples = SampleRecorder::Open(requests_, {}, cpus_, tids);
  if (!samples.ok()) return samples.status();
  streams_.SetSamples(*std::move(samples));
  absl::Status status = streams_.Create(target);
  if (status.ok()) status = points_.Open(target.directory);
  if (!status.ok()) return status;
  const std::uint64_t begin_ns = MonotonicNs();
  for (CpuStream& stream : streams_.all()) stream.begin_ns = begin_ns;
  const auto threads = streams_.ScanAtBegin(target.root_pids);
  streams_.StoreThreads(threads);
  status = streams_.BeginSamples(&points_, threads);
  if (!status.ok()) return status;
  began_ = true;
  return absl::OkStatus();
}

absl::Status OwnProcessesRecorder::End() {
  if (!began_ || ended_) return absl::OkStatus();
  streams_.StopSamples();
  Drain();
  ended_ = true;
  streams_.EndSamples();
  streams_.StoreUntil(std::numeric_limits<std::uint64_t>::max());
  const absl::Status result = streams_.Close();
  streams_.DescribeClockErrors(messages_);
  streams_.DescribeSamples(messages_);
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenOwnProcessesRecorder(
    const KernelRecorderOptions& options) {
  auto cpus = OnlineCpus();
  if (!cpus.ok()) return cpus.status();
  std::vector<SampleRequest> requests = options.samples;
  // The kernel part where that is allowed.
  auto trial = SamplingEvents::Open(requests, {cpus->front()}, {getpid()});
  if (absl::IsPermissionDenied(trial.status())) {
    for (SampleRequest& request : requests) {
      request.event.exclude_kernel = true;
    }
    trial = SamplingEvents::Open(requests, {cpus->front()}, {getpid()});
  }
  if (!trial.ok()) return trial.status();
  return std::make_unique<OwnProcessesRecorder>(options, std::move(requests),
                                                *std::move(cpus));
}

}  // namespace countrace::runtime
