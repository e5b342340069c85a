#include "runtime/recorder/kernel/perf/perf_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "logformat/packet_layout.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Trailer of non-sample records: {u32 pid, tid; u64 time; u32 cpu, reserved}.
constexpr std::size_t kTrailerBytes = 24;
constexpr std::size_t kTrailerTidOffset = 4;
constexpr std::size_t kTrailerTimeOffset = 8;
// Sample of a page fault: header, event id, {u32 pid, tid}, time, address, {u32
// cpu, res}.
constexpr std::size_t kFaultSampleBytes = 48;
// Sample of a switch up to the group: header, {u32 pid, tid}, time, {u32 cpu,
// res}.
constexpr std::size_t kSwitchFixedBytes = 32;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

// Bodies of the records we use (linux/perf_event.h).
struct TaskBody {  // PERF_RECORD_FORK, PERF_RECORD_EXIT
  std::uint32_t pid, ppid, tid, ptid;
  std::uint64_t time;
};
struct CommBody {  // PERF_RECORD_COMM; then the name, padded to 8 bytes
  std::uint32_t pid, tid;
};
struct SwitchBody {  // PERF_RECORD_SWITCH_CPU_WIDE, switched in
  std::uint32_t prev_pid, prev_tid;
};
struct LostBody {  // PERF_RECORD_LOST
  std::uint64_t id, lost;
};

std::uint64_t TrailerTime(std::span<const std::byte> bytes) {
  return Load<std::uint64_t>(bytes.data() + bytes.size() - kTrailerBytes +
                             kTrailerTimeOffset);
}

}  // namespace

PerfDecoder::PerfDecoder(const SwitchFormat& format,
                         std::vector<std::size_t> slots,
                         logformat::EventSets sets)
    : format_(format),
      slots_(std::move(slots)),
      sets_(std::move(sets)),
      running_ns_(sets_.sizes.size(), 0) {}

void PerfDecoder::ChangeSet(std::uint32_t set, std::uint64_t until_clock,
                            std::uint64_t since_ns, std::uint64_t since_clock) {
  if (set_since_ns_ != kNever && until_clock > set_since_clock_) {
    running_ns_[set_] += until_clock - set_since_clock_;
  }
  set_ = set;
  set_since_ns_ = since_ns;
  set_since_clock_ = since_clock;
}

void PerfDecoder::SetRefused(const EventBits& events, std::uint64_t time_ns,
                             RecordBatch& batch) {
  if (refused_ == events) return;
  refused_ = events;
  if (sets_.rotates()) return;
  // Without sets a dump has all events, and a bit for each.
  constexpr EventBits kOfDump(~std::uint32_t{0});
  const auto mask = static_cast<std::uint32_t>((events & kOfDump).to_ulong());
  *batch.Add(time_ns, kCountedEntry, 1) = ~mask;
}

// `value(i)`: the i-th after the leader's.
template <typename Values>
void PerfDecoder::StoreDump(const Values& value, std::uint64_t time_ns,
                            std::uint64_t clock, std::uint64_t* dump) const {
  std::fill_n(dump, dump_words(), std::uint64_t{0});
  if (!sets_.rotates()) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!refused_[slots_[i]]) dump[slots_[i]] = value(i);
    }
    return;
  }
  const std::size_t always_on = sets_.always_on();
  const std::size_t first = sets_.first_event(set_);
  const bool counted = time_ns >= set_since_ns_;
  std::uint64_t present = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::size_t at = slots_[i];
    if (refused_[at]) continue;
    if (at >= always_on) {
      if (!counted || at < first || at >= first + sets_.sizes[set_]) continue;
      at = at - first + always_on;
      present |= std::uint64_t{1} << (sets_.slots() - 1);
    }
    dump[1 + at] = value(i);
    present |= std::uint64_t{1} << at;
  }
  // The group is pinned: if a set is enabled in it, the set is counted, or the
  // whole group is off and writes no record.
  if (counted) {
    dump[sets_.slots()] = running_ns_[set_] + (clock - set_since_clock_);
  }
  dump[0] = set_ | present << 32;
}

bool PerfDecoder::DecodeGroup(std::span<const std::uint64_t> group,
                              std::uint64_t* dump,
                              std::uint64_t time_ns) const {
  if (group.size() < group_words() || group[0] != slots_.size() + 1) {
    return false;
  }
  // The first value is the leader's own count.
  StoreDump([&](std::size_t i) { return group[first_value() + 1 + i]; },
            time_ns, GroupClock(group), dump);
  return true;
}

bool PerfDecoder::DecodeSample(std::span<const std::byte> bytes,
                               RecordBatch& batch) {
  if (fault_id_ != 0 && Load<std::uint64_t>(bytes.data() + 8) == fault_id_) {
    logformat::FaultRecord fault{};
    fault.pid = Load<std::int32_t>(bytes.data() + 16);
    fault.tid = Load<std::int32_t>(bytes.data() + 20);
    fault.address = Load<std::uint64_t>(bytes.data() + 32);
    batch.AddStruct(Load<std::uint64_t>(bytes.data() + 24), CpuEvent::kFault,
                    fault);
    return true;
  }
  const std::size_t values_end =
      kSwitchFixedBytes + group_words() * sizeof(std::uint64_t);
  const std::size_t raw_at = values_end + sizeof(std::uint32_t);
  if (bytes.size() < raw_at + format_.raw_bytes ||
      Load<std::uint64_t>(bytes.data() + kSwitchFixedBytes) !=
          slots_.size() + 1 ||
      Load<std::uint32_t>(bytes.data() + values_end) < format_.raw_bytes) {
    return false;
  }
  const std::byte* const raw = bytes.data() + raw_at;
  const auto prev = Load<std::uint32_t>(raw + format_.prev_tid_offset);
  const auto next = Load<std::uint32_t>(raw + format_.next_tid_offset);
  const std::uint64_t state =
      format_.prev_state_size == 8
          ? Load<std::uint64_t>(raw + format_.prev_state_offset)
          : Load<std::uint32_t>(raw + format_.prev_state_offset);
  const auto time_ns = Load<std::uint64_t>(bytes.data() + 16);
  std::uint64_t* body =
      batch.Add(time_ns, static_cast<std::uint16_t>(CpuEvent::kDispatch),
                1 + dump_words());
  body[0] = logformat::PackDispatch(prev, next, MapSwitchState(state));
  const std::byte* const group = bytes.data() + kSwitchFixedBytes;
  const auto word = [group](std::size_t i) {
    return Load<std::uint64_t>(group + i * sizeof(std::uint64_t));
  };
  StoreDump([&](std::size_t i) { return word(first_value() + 1 + i); }, time_ns,
            sets_.rotates() ? word(1) : 0, body + 1);
  ++dispatches_;
  return true;
}

void PerfDecoder::Decode(const perf_event_header& header, RecordBatch& batch) {
  const std::span<const std::byte> bytes(
      reinterpret_cast<const std::byte*>(&header), header.size);
  const std::byte* const body = bytes.data() + sizeof(perf_event_header);
  const std::size_t body_bytes = bytes.size() - sizeof(perf_event_header);
  switch (header.type) {
    case PERF_RECORD_SAMPLE:
      if (bytes.size() < kFaultSampleBytes || !DecodeSample(bytes, batch))
        break;
      return;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      if (body_bytes < sizeof(TaskBody) + kTrailerBytes) break;
      const auto task = Load<TaskBody>(body);
      logformat::TaskRecord record{};
      record.pid = static_cast<std::int32_t>(task.pid);
      record.tid = static_cast<std::int32_t>(task.tid);
      record.parent_pid = static_cast<std::int32_t>(task.ppid);
      record.parent_tid = static_cast<std::int32_t>(task.ptid);
      batch.AddStruct(
          task.time,
          header.type == PERF_RECORD_FORK ? CpuEvent::kFork : CpuEvent::kExit,
          record);
      return;
    }
    case PERF_RECORD_COMM: {
      if (body_bytes < sizeof(CommBody) + 8 + kTrailerBytes) break;
      const auto comm = Load<CommBody>(body);
      logformat::CommRecord record{};
      record.pid = static_cast<std::int32_t>(comm.pid);
      record.tid = static_cast<std::int32_t>(comm.tid);
      const char* name = reinterpret_cast<const char*>(body + sizeof(CommBody));
      const std::size_t name_bytes =
          strnlen(name, std::min(body_bytes - sizeof(CommBody) - kTrailerBytes,
                                 sizeof(record.comm) - 1));
      std::memcpy(record.comm, name, name_bytes);
      batch.AddStruct(TrailerTime(bytes),
                      (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0
                          ? CpuEvent::kExec
                          : CpuEvent::kComm,
                      record);
      return;
    }
    case PERF_RECORD_LOST: {
      if (body_bytes < sizeof(LostBody) + kTrailerBytes) break;
      const std::uint64_t lost = Load<LostBody>(body).lost;
      // Either event may have lost it: that of the faults has an id at its end.
      *batch.Add(
          Load<std::uint64_t>(body + sizeof(LostBody) + kTrailerTimeOffset),
          kLossEntry, 1) = lost;
      lost_ += lost;
      return;
    }
    default:  // THROTTLE, UNTHROTTLE, LOST_SAMPLES: nothing we record
      return;
  }
  LeaveOut(header);
}

void PerfDecoder::DecodeSwitchIn(const perf_event_header& header,
                                 std::uint64_t until_ns, RecordBatch& batch) {
  if (header.type != PERF_RECORD_SWITCH_CPU_WIDE ||
      (header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
    return;
  }
  const std::span<const std::byte> bytes(
      reinterpret_cast<const std::byte*>(&header), header.size);
  if (bytes.size() <
      sizeof(perf_event_header) + sizeof(SwitchBody) + kTrailerBytes) {
    LeaveOut(header);
    return;
  }
  const std::uint64_t time_ns = TrailerTime(bytes);
  if (time_ns > until_ns) return;
  const auto next = Load<std::uint32_t>(bytes.data() + bytes.size() -
                                        kTrailerBytes + kTrailerTidOffset);
  // A thread that has been reaped and runs its last few instructions.
  if (next == ~std::uint32_t{0}) return;
  const std::uint32_t prev =
      Load<SwitchBody>(bytes.data() + sizeof(perf_event_header)).prev_tid;
  *batch.Add(time_ns, static_cast<std::uint16_t>(CpuEvent::kSwitchIn), 1) =
      logformat::PackDispatch(prev, next, 0);
}

}  // namespace countrace::runtime
