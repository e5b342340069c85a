// Reads the committed records of one CPU's ring (kernel_ring.h).
//
// Thread: one reader; the writers run in the kernel.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_KERNEL_RING_READER_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_KERNEL_RING_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "logformat/session_layout.h"
#include "runtime/recorder/kernel/bpf/read/call_values.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"
#include "runtime/recorder/kernel/program_start.h"
#include "runtime/recorder/kernel/ring/kernel_record.h"
#include "runtime/recorder/system/block_devices.h"

namespace countrace::runtime {

class KernelRingReader {
 public:
  // `ring`: `ring_bytes` (a power of two) and the slack. `counters`: values in
  // a dump. `now_ns`: approximate time of the first record. `hooks`: maps
  // records at kernel hooks to their event ids; null: there are none.
  KernelRingReader(countrace_ring_control& control, std::byte* ring,
                   std::uint64_t ring_bytes, std::size_t counters,
                   std::uint64_t now_ns, KernelHookRegistry* hooks = nullptr)
      : control_(&control),
        ring_(ring),
        ring_bytes_(ring_bytes),
        counters_(counters),
        hooks_(hooks),
        last_ns_(now_ns),
        calls_(hooks == nullptr ? nullptr : &hooks->arguments()) {}

  // Moves all committed records to `batch`, in time order. An uncommitted
  // record, and all after it, stay for the next call.
  void Drain(RecordBatch& batch);
  // After the last record: adds the losses since then as a loss entry.
  void DrainLosses(RecordBatch& batch);

  // The numbers of threads of other pid namespaces since the last call.
  std::vector<logformat::ThreadIdsEntry> TakeThreadIds() {
    return std::exchange(thread_ids_, {});
  }
  // The programs that were started since the last call.
  std::vector<ProgramStart> TakePrograms() {
    return std::exchange(programs_, {});
  }
  std::uint64_t lost() const { return lost_; }
  // Size of a ring, in bytes, that would have had room for what was lost, by
  // the mean size of what was read; 0: nothing was lost.
  std::uint64_t wanted_bytes() const { return wanted_bytes_; }
  std::uint64_t dispatches() const { return dispatches_; }
  // Records of hooks that could not be registered: lost.
  std::uint64_t unnamed() const { return unnamed_; }
  // Values that the kernel could not read.
  std::uint64_t unreadable() const { return unreadable_; }
  // Values of system calls, with the counts of texts that were unreadable or
  // cut.
  const CallValues& calls() const { return calls_; }
  // Words that are no record header: the rest of the ring is discarded.
  std::uint64_t malformed() const { return malformed_; }
  // Whether values of the last dump were not counted; total time of that, up to
  // the last dump.
  bool refused() const { return counted_ != ~std::uint32_t{0}; }
  std::uint64_t refused_ns() const {
    return refused_ns_ + (refused() ? last_ns_ - refused_since_ns_ : 0);
  }

 private:
  void AddRecord(std::byte* at, std::uint16_t event_id, std::size_t bytes,
                 std::size_t tail, RecordBatch& batch);
  // Stores a block point with the name of its device.
  void AddBlockRecord(const std::byte* at, std::uint16_t event_id,
                      std::size_t bytes, RecordBatch& batch);
  // Stores a record with the values in the slots behind its first `before`
  // bytes, if they are those that its hook has; else counts it as lost.
  void AddValues(const std::byte* at, std::uint16_t event_id,
                 std::size_t before, RecordBatch& batch);
  // Counts a record that has no hook, or other values than its hook.
  void LoseRecord(RecordBatch& batch);
  // Stores a system call's record with its values: `tail` bytes behind
  // `before`.
  void AddCallRecord(const std::byte* at, std::uint16_t event_id,
                     std::size_t before, std::size_t tail, RecordBatch& batch);
  // Stores the first `before` bytes of a record, then `values`.
  void AddRecordWith(const std::byte* at, std::uint16_t event_id,
                     std::size_t before, std::span<const std::byte> values,
                     RecordBatch& batch);
  // Bytes of an entry behind its first `bytes`.
  std::size_t TailBytes(const std::byte* at, std::uint16_t event_id,
                        std::size_t bytes) const;
  // Finds values of a record's dump that were not counted: stores 0 for them,
  // and adds an entry before the record.
  void FindRefused(std::byte* dump, RecordBatch& batch);
  void AddThreadIds(const std::byte* at);
  void AddProgram(const std::byte* at);
  void AddLosses(std::uint64_t lost, RecordBatch& batch);
  void GiveBack(std::uint64_t from, std::uint64_t to);

  countrace_ring_control* control_;
  std::byte* ring_;
  std::uint64_t ring_bytes_;
  std::size_t counters_;
  KernelHookRegistry* hooks_;
  std::uint64_t last_ns_;
  BlockDevices devices_;
  CallValues calls_;
  std::vector<logformat::ThreadIdsEntry> thread_ids_;
  std::vector<ProgramStart> programs_;
  std::uint32_t counted_ = ~std::uint32_t{0};
  std::uint64_t refused_since_ns_ = 0, refused_ns_ = 0;
  std::uint64_t lost_ = 0, dispatches_ = 0, malformed_ = 0, unnamed_ = 0;
  // Losses since the ring was last half empty; what was read, for their size.
  std::uint64_t lost_in_row_ = 0, wanted_bytes_ = 0;
  std::uint64_t read_entries_ = 0, read_bytes_ = 0;
  std::uint64_t unreadable_ = 0;
  std::vector<std::byte> values_;  // of one record
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_KERNEL_RING_READER_H_
