// perf records of a CPU's ring -> kernel records in logformat's layout.
//
// The ring holds the samples of two events: the group led by
// sched:sched_switch, and page faults. Only the latter carry their event id: in
// its place the switches have pid and tid, of which neither alone is 0. Sizes
// do not tell them apart: where others sample page faults, too, the kernel
// makes a record larger by what theirs needs (do_perf_sw_event() has one
// perf_sample_data for all), and what is behind ours is no data.
// Thread: any, one at a time. FORMAT.md section 4.3; perf_event_open(2).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_DECODER_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_DECODER_H_

#include <linux/perf_event.h>

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "logformat/event_sets.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/ring/kernel_record.h"
#include "runtime/recorder/system/tracepoint_format.h"

namespace countrace::runtime {

// Sample types of the two events. Both share the order of TID, TIME, CPU in the
// trailer of non-sample records (sample_id_all).
inline constexpr std::uint64_t kSwitchSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ |
    PERF_SAMPLE_RAW;
inline constexpr std::uint64_t kFaultSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
    PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
inline constexpr std::uint64_t kSwitchInSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
// With event sets, values come with the leader's time enabled at the instant of
// the counts. A clock read beside a read(2) of another CPU's counters may
// differ by the latency of the interrupt.
inline constexpr std::uint64_t ReadFormat(bool sets_rotate) {
  return sets_rotate ? PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED
                     : PERF_FORMAT_GROUP;
}

class PerfDecoder {
 public:
  // `counters` values follow the leader's in a group read. `slots[i]` is the
  // index of the i-th in the session's `events`; events that this CPU lacks
  // stay 0 and are not `present`.
  PerfDecoder(const SwitchFormat& format, std::vector<std::size_t> slots,
              std::size_t events)
      : PerfDecoder(format, std::move(slots),
                    logformat::EventSets{events, {}, /*running_slot=*/true}) {}
  PerfDecoder(const SwitchFormat& format, std::vector<std::size_t> slots,
              logformat::EventSets sets);

  // Event set `set` is counted since `since_ns`; records before that time have
  // no set. `since_clock`, `until_clock`: the leader's time enabled then, and
  // at the last read of the set before.
  void ChangeSet(std::uint32_t set, std::uint64_t until_clock,
                 std::uint64_t since_ns, std::uint64_t since_clock);
  // The set that is counted first, and the time since which: the leader is
  // enabled then.
  void BeginSets(std::uint32_t set, std::uint64_t since_ns) {
    set_ = set;
    set_since_ns_ = since_ns;
  }
  // The events of `slots` that are not counted now, by index in the session's
  // events: they are not present. Without sets, a change adds an entry to the
  // batch at `time_ns`.
  using EventBits = std::bitset<logformat::kMaxEvents>;
  void SetRefused(const EventBits& events, std::uint64_t time_ns,
                  RecordBatch& batch);
  // `id`: that of the page-fault event (PERF_EVENT_IOC_ID); 0: there is none.
  void SetFaultId(std::uint64_t id) { fault_id_ = id; }
  // Words of a dump.
  std::size_t dump_words() const {
    return sets_.slots() + (sets_.rotates() ? 1 : 0);
  }

  // Appends the record of `header` to `batch`. Records that we do not use are
  // skipped; broken ones are counted.
  void Decode(const perf_event_header& header, RecordBatch& batch);

  // The same for the ring of switch-ins; records later than `until_ns` are left
  // out.
  void DecodeSwitchIn(const perf_event_header& header, std::uint64_t until_ns,
                      RecordBatch& batch);

  // Words of a group read(2): u64 nr, the leader's time enabled if sets rotate,
  // then nr values, leader first.
  std::size_t group_words() const { return first_value() + 1 + slots_.size(); }
  // The time enabled in it; 0 without sets.
  std::uint64_t GroupClock(std::span<const std::uint64_t> group) const {
    return sets_.rotates() ? group[1] : 0;
  }
  // Decodes the dump in it. Returns false if it does not hold the expected
  // number of values.
  bool DecodeGroup(std::span<const std::uint64_t> group, std::uint64_t* dump,
                   std::uint64_t time_ns = 0) const;

  // Records whose size or content contradicts perf_event_open(2).
  std::uint64_t malformed() const { return malformed_; }
  const perf_event_header& first_malformed() const { return first_malformed_; }
  // Number of lost records in LOST records.
  std::uint64_t lost() const { return lost_; }
  std::uint64_t dispatches() const { return dispatches_; }

 private:
  // Index of the leader's value, in words from nr on.
  std::size_t first_value() const { return sets_.rotates() ? 2 : 1; }
  template <typename Values>
  void StoreDump(const Values& value, std::uint64_t time_ns,
                 std::uint64_t clock, std::uint64_t* dump) const;
  // False: it is malformed.
  bool DecodeSample(std::span<const std::byte> bytes, RecordBatch& batch);
  void LeaveOut(const perf_event_header& header) {
    if (malformed_++ == 0) first_malformed_ = header;
  }

  SwitchFormat format_;
  std::vector<std::size_t> slots_;
  logformat::EventSets sets_;
  std::uint32_t set_ = 0;  // counted, or next
  std::uint64_t set_since_ns_ = 0, set_since_clock_ = 0;
  std::vector<std::uint64_t> running_ns_;  // of each set, before that
  EventBits refused_;
  std::uint64_t fault_id_ = 0;
  std::uint64_t malformed_ = 0;
  perf_event_header first_malformed_{};
  std::uint64_t lost_ = 0;
  std::uint64_t dispatches_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_DECODER_H_
