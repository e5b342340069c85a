// The cpu-N streams of a session and their records: those of each CPU's ring in
// time order. With marked or unmarked processes only, just theirs.
//
// In: batches of kernel records, filled by a back end. Out: packets on disk.
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_CPU_STREAMS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_CPU_STREAMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "logformat/write/packet_writer.h"
#include "runtime/recorder/directory/owners_file.h"
#include "runtime/recorder/kernel/kernel_recorder.h"
#include "runtime/recorder/kernel/marked_threads.h"
#include "runtime/recorder/kernel/process_marks.h"
#include "runtime/recorder/kernel/ring/kernel_record.h"
#include "runtime/recorder/samples/sample_recorder.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {

// One CPU: records that were read but not yet stored, its stream, its running
// thread.
struct CpuStream {
  std::uint32_t cpu = 0;
  std::uint32_t present = 0;  // bit i: event i counts here
  RecordBatch batch;
  std::size_t next = 0;  // first record of `batch` that is not stored yet
  std::unique_ptr<logformat::PacketWriter> writer;
  std::uint64_t begin_ns = 0;
  std::int32_t running_tid = -1;  // switched in last; -1: unknown
  bool hides_switches = false;    // a dispatch did not continue the last one
  bool watch_failed = false;      // to record its switch-ins; was reported
  // `batch` comes from several rings: records after the horizon of StoreUntil()
  // may have earlier ones after them in the next batch.
  bool several_rings = false;
  std::uint64_t stored_ns = 0;  // time of the last record that was stored
  // The last dispatch if it was left out.
  std::uint64_t left_out_ns = 0;  // 0: it was stored
  std::vector<std::uint64_t> left_out;
};

class CpuStreams {
 public:
  // `kernel_marks`: whether the kernel side has marked a process; it then also
  // writes the process_state record. Empty: this class marks processes.
  CpuStreams(const logformat::Gating& gating, ProcessMarks marks,
             std::function<bool(std::int32_t pid)> kernel_marks = nullptr)
      : gating_(gating),
        marks_(std::move(marks)),
        kernel_marks_(std::move(kernel_marks)),
        members_(gating) {}

  // Samples are taken, too. Before Create().
  void SetSamples(std::unique_ptr<SampleRecorder> samples) {
    samples_ = std::move(samples);
  }
  SampleRecorder* samples() { return samples_.get(); }
  const SampleRecorder* samples() const { return samples_.get(); }
  // Begins to sample; without samples nothing. Returns: as
  // SampleRecorder::Begin().
  // `threads`: those that ran before, of each process together.
  absl::Status BeginSamples(KernelHookRegistry* registry,
                            const std::vector<ProcessThread>& threads) {
    if (samples_ == nullptr) return absl::OkStatus();
    // Before it begins: new pages then would be samples of their own.
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].batch.Reserve(samples_->stack_bytes(i));
    }
    const absl::Status status = samples_->Begin(*registry);
    std::int32_t last = -1;
    for (const ProcessThread& thread : threads) {
      if (thread.is_kernel_thread || thread.pid == last) continue;
      last = thread.pid;
      samples_->ReadMappings(last);
    }
    return status;
  }
  // Behind the reading of the rings.
  void DrainSamples();
  // No sample is later. The rings are read once more then.
  void StopSamples();
  // Stores the last records of sampling.
  void EndSamples();
  // Adds a stream for `cpu`; its index is the number of earlier ones.
  CpuStream& Add(std::uint32_t cpu, std::uint32_t present);
  std::vector<CpuStream>& all() { return streams_; }
  const std::vector<CpuStream>& all() const { return streams_; }

  // Creates the files. Returns: as PacketWriter::Create().
  absl::Status Create(const KernelRecorderTarget& target);
  // `counters`: one for each event of the session.
  static void StoreCounters(CpuStream& stream, std::uint64_t time_ns,
                            logformat::CountersReason reason,
                            std::uint32_t running_tid,
                            std::span<const std::uint64_t> counters);
  // Stores the first record of each batch, which is its first dump.
  void StoreBegin();
  // The existing threads that are kept; marked ones become members.
  std::vector<ProcessThread> ScanAtBegin(
      const std::vector<std::int32_t>& root_pids);
  // Stores them, except those with a fork record in a batch: they started
  // during the scan.
  void StoreThreads(const std::vector<ProcessThread>& threads);
  // For a snapshot, behind its dumps: names the threads that started since the
  // recording began, as a flight recording may have overwritten who they are.
  // Where every process is recorded. Every record before `until_ns` is stored.
  void StoreStarted(std::uint64_t until_ns);
  // Stores whose the processes are that live at the end. Every record before
  // `horizon_ns` is stored.
  void StoreOwners(std::uint64_t horizon_ns);
  // Stores the records up to `horizon_ns`; every ring has been read up to it.
  void StoreUntil(std::uint64_t horizon_ns);
  // After losses: finds descendants of members whose fork may be among the lost
  // records.
  void FindLostMembers();
  // Follows the running thread. False for a switch-in that a dispatch has
  // already covered.
  static bool FollowSwitch(CpuStream& stream, const KernelRecord& record);
  absl::Status Close();

  // Adds a message if times of records went back.
  void DescribeClockErrors(std::vector<std::string>& messages) const;
  // Adds a message if samples were lost.
  void DescribeSamples(std::vector<std::string>& messages) const;
  // Adds the writers' statistics to `sum`.
  void AddStatistics(KernelRecorderStatistics& sum) const;

 private:
  void StoreProcessState(CpuStream& stream, const ProcessThread& thread,
                         std::uint64_t time_ns);
  void Store(CpuStream& stream, const KernelRecord& record);
  void StoreOwner(CpuStream& stream, const logformat::OwnerRecord& owner,
                  std::uint64_t time_ns);
  void StoreOwnerAfterExec(CpuStream& stream, std::int32_t pid,
                           std::uint64_t time_ns);
  void StoreIfCounted(CpuStream& stream, const KernelRecord& record);
  void StoreLeftOut(CpuStream& stream);
  // If `record` is an entry of samples, handles it.
  bool TakeSampling(CpuStream& stream, const KernelRecord& record);
  // Forks and ends of stored processes, for their samples.
  void FollowProcesses(const CpuStream& stream, const KernelRecord& record);
  // If `record` shows that its process is marked from now on, marks it.
  void FollowMarks(CpuStream& stream, const KernelRecord& record);
  void StoreMarked(CpuStream& stream, const ProcessThread& first,
                   std::uint64_t time_ns);
  void StoreFound(CpuStream& stream, const KernelRecord& record);

  logformat::Gating gating_;
  ProcessMarks marks_;
  std::function<bool(std::int32_t pid)> kernel_marks_;
  std::vector<CpuStream> streams_;
  MarkedThreads members_;
  std::unique_ptr<SampleRecorder> samples_;  // null: none are taken
  std::optional<OwnersFile> owners_;
  std::uint64_t marked_ns_ = 0;     // when a process last became a member
  std::uint64_t scanned_tick_ = 0;  // of boot time: the last scan of /proc
  // Lost members found in /proc. Stored at their first record. If it is their
  // fork, which came during the search, it describes them itself.
  absl::flat_hash_map<std::int32_t, ProcessThread> found_;  // by tid
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_CPU_STREAMS_H_
