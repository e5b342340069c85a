// perf records of a CPU's ring -> kernel records in logformat's layout.
//
// The ring holds the samples of two events: the group led by
// sched:sched_switch, and page faults. They carry no event id (8 bytes less a
// record); a fault sample has a fixed size that no switch sample can have.
// Thread: any, one at a time. FORMAT.md section 4.3; perf_event_open(2).
#ifndef COUNTRACE_RUNTIME_RECORDER_PERF_DECODER_H_
#define COUNTRACE_RUNTIME_RECORDER_PERF_DECODER_H_

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/recorder/kernel_record.h"
#include "runtime/recorder/tracepoint_format.h"

namespace countrace::runtime {

// Sample types of the two events. Both share the order of TID, TIME, CPU in the
// trailer of non-sample records (sample_id_all).
inline constexpr std::uint64_t kSwitchSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ |
    PERF_SAMPLE_RAW;
inline constexpr std::uint64_t kFaultSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
inline constexpr std::uint64_t kSwitchInSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
inline constexpr std::uint64_t kReadFormat = PERF_FORMAT_GROUP;

class PerfDecoder {
 public:
  // `counters` values follow the leader's in a group read; `slots[i]` is the
  // place of the i-th in the session's event set of `events` (events that this
  // CPU does not have stay 0 and are not `present`).
  PerfDecoder(const SwitchFormat& format, std::vector<std::size_t> slots,
              std::size_t events);

  // Appends what `header` means to `batch`. Records without meaning for us are
  // skipped; broken ones are counted.
  void Decode(const perf_event_header& header, RecordBatch& batch);

  // The same for the ring of switch-ins; later ones than `until_ns` are left
  // out.
  void DecodeSwitchIn(const perf_event_header& header, std::uint64_t until_ns,
                      RecordBatch& batch);

  // The counters of a group read(2): u64 nr, then nr values, leader first.
  // Returns false if it does not hold the expected number.
  bool DecodeGroup(std::span<const std::uint64_t> group,
                   std::uint64_t* counters) const;

  // Records whose size or content contradicts perf_event_open(2).
  std::uint64_t malformed() const { return malformed_; }
  // Records that LOST records speak of.
  std::uint64_t lost() const { return lost_; }
  std::uint64_t dispatches() const { return dispatches_; }

 private:
  void DecodeSample(std::span<const std::byte> bytes, RecordBatch& batch);

  SwitchFormat format_;
  std::vector<std::size_t> slots_;
  std::size_t events_;
  std::uint64_t malformed_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t dispatches_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_PERF_DECODER_H_
