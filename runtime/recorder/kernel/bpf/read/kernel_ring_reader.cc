#include "runtime/recorder/kernel/bpf/read/kernel_ring_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/bpf/read/value_slots.h"
#include "runtime/recorder/system/tracepoint_format.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;

constexpr unsigned kFlags =
    COUNTRACE_EVENT_DUMP | COUNTRACE_EVENT_VALUES | COUNTRACE_EVENT_CALL_VALUES;

// The ids of other entries are none of a family with flags.
bool IsHookEvent(std::uint16_t event_id) {
  const unsigned code = event_id & ~kFlags;
  return code >= COUNTRACE_EVENT_HOOK &&
         code < COUNTRACE_EVENT_HOOK + 4 * COUNTRACE_HOOK_FAMILIES;
}

bool HasValues(std::uint16_t event_id) {
  return IsHookEvent(event_id) && (event_id & COUNTRACE_EVENT_VALUES) != 0;
}

bool IsCallWithValues(std::uint16_t event_id) {
  return IsHookEvent(event_id) && (event_id & COUNTRACE_EVENT_CALL_VALUES) != 0;
}

std::uint64_t WordAt(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// Whether a word in it says that it is longer. (A file without a name is not.)
bool HasTail(std::uint16_t event_id) {
  return HasValues(event_id) || IsCallWithValues(event_id);
}

// Bytes of a record with its header word, without the part whose length is in
// it; 0: no such event.
std::size_t RecordBytes(std::uint16_t event_id, std::size_t counters) {
  if (event_id == COUNTRACE_EVENT_LOST) return 16;
  if (event_id == COUNTRACE_EVENT_THREAD_IDS) return 32;
  if (event_id == COUNTRACE_EVENT_PROGRAM) return COUNTRACE_PROGRAM_BYTES;
  if (event_id == COUNTRACE_EVENT_FILE) return COUNTRACE_FILE_HEAD_BYTES;
  if (IsHookEvent(event_id)) {
    std::size_t bytes = sizeof(logformat::KernelHookRecord);
    if ((event_id & COUNTRACE_EVENT_DUMP) != 0) bytes += counters * 8;
    if ((event_id & 3) == COUNTRACE_PLACE_EXIT) bytes += 8;  // return value
    if ((event_id & 3) == COUNTRACE_PLACE_BLOCK) {
      bytes += 8 * COUNTRACE_BLOCK_VALUES;
    }
    return bytes;
  }
  switch (static_cast<CpuEvent>(event_id)) {
    case CpuEvent::kDispatch:
      return sizeof(logformat::DispatchRecord) + counters * 8;
    case CpuEvent::kCounters:
      return sizeof(logformat::CountersRecord) + counters * 8;
    case CpuEvent::kFork:
    case CpuEvent::kExit:
      return sizeof(logformat::TaskRecord);
    case CpuEvent::kExec:
    case CpuEvent::kComm:
      return sizeof(logformat::CommRecord);
    case CpuEvent::kFault:
      return sizeof(logformat::FaultRecord);
    case CpuEvent::kWakeup:
      return sizeof(logformat::WakeupRecord);
    case CpuEvent::kSwitchIn:
      return sizeof(logformat::SwitchInRecord);
    case CpuEvent::kProcessState:
      return sizeof(logformat::StateRecord);
    case CpuEvent::kOwner:
      return sizeof(logformat::OwnerRecord);
  }
  return 0;
}

// A dump follows the header word and one more word.
bool CarriesDump(std::uint16_t event_id) {
  if (IsHookEvent(event_id)) return (event_id & COUNTRACE_EVENT_DUMP) != 0;
  return event_id == static_cast<std::uint16_t>(CpuEvent::kDispatch) ||
         event_id == static_cast<std::uint16_t>(CpuEvent::kCounters);
}

std::uint64_t Load(unsigned long long& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace

void KernelRingReader::AddLosses(std::uint64_t lost, RecordBatch& batch) {
  if (lost <= lost_) return;
  *batch.Add(last_ns_, kLossEntry, 1) = lost - lost_;
  lost_in_row_ += lost - lost_;
  lost_ = lost;
  const std::uint64_t mean =
      read_bytes_ / std::max<std::uint64_t>(read_entries_, 1);
  wanted_bytes_ = std::max(wanted_bytes_, ring_bytes_ + lost_in_row_ * mean);
}

void KernelRingReader::AddThreadIds(const std::byte* at) {
  std::uint32_t words[5] = {};
  std::memcpy(words, at + 8, sizeof(words));
  logformat::ThreadIdsEntry entry{};
  entry.time_ns = last_ns_;
  entry.pid = static_cast<std::int32_t>(words[0]);
  entry.tid = static_cast<std::int32_t>(words[1]);
  entry.own_pid = static_cast<std::int32_t>(words[2]);
  entry.own_tid = static_cast<std::int32_t>(words[3]);
  entry.pid_namespace = words[4];
  thread_ids_.push_back(entry);
}

void KernelRingReader::AddProgram(const std::byte* at) {
  std::uint32_t words[4] = {};
  std::memcpy(words, at + 8, sizeof(words));
  ProgramStart start;
  start.time_ns = last_ns_;
  start.pid = static_cast<std::int32_t>(words[0]);
  start.own_pid = static_cast<std::int32_t>(words[1]);
  start.pid_namespace = words[2];
  start.parent_pid = static_cast<std::int32_t>(words[3]);
  std::memcpy(&start.inode, at + 24, sizeof(start.inode));
  const char* const path = reinterpret_cast<const char*>(at + 32);
  start.path.assign(path, strnlen(path, COUNTRACE_PROGRAM_PATH_BYTES));
  programs_.push_back(std::move(start));
}

void KernelRingReader::FindRefused(std::byte* dump, RecordBatch& batch) {
  std::uint32_t counted = ~std::uint32_t{0};
  for (std::size_t i = 0; i < counters_; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, dump + i * sizeof(value), sizeof(value));
    if (value != COUNTRACE_NOT_COUNTED) continue;
    counted &= ~(1u << i);
    std::memset(dump + i * sizeof(value), 0, sizeof(value));
  }
  if (counted == counted_) return;
  refused_ns_ = refused_ns();
  counted_ = counted;
  refused_since_ns_ = last_ns_;
  *batch.Add(last_ns_, kCountedEntry, 1) = counted;
}

void KernelRingReader::AddRecord(std::byte* at, std::uint16_t event_id,
                                 std::size_t bytes, std::size_t tail,
                                 RecordBatch& batch) {
  if (CarriesDump(event_id)) FindRefused(at + 16, batch);
  const bool block =
      IsHookEvent(event_id) && (event_id & 3) == COUNTRACE_PLACE_BLOCK;
  const bool values = HasValues(event_id);
  const bool call = IsCallWithValues(event_id);
  const bool call_exit = (event_id & ~kFlags) ==
                         COUNTRACE_EVENT_HOOK + 4 * COUNTRACE_FAMILY_SYSCALL +
                             COUNTRACE_PLACE_EXIT;
  if (IsHookEvent(event_id)) {
    std::uint64_t ids = 0;
    std::memcpy(&ids, at + 8, sizeof(ids));
    event_id =
        hooks_ == nullptr
            ? std::uint16_t{0}
            : hooks_->EventId(event_id, static_cast<std::uint32_t>(ids >> 48));
    if (event_id == 0) return LoseRecord(batch);
    if (block) return AddBlockRecord(at, event_id, bytes, batch);
    if (values) return AddValues(at, event_id, bytes, batch);
    if (call) return AddCallRecord(at, event_id, bytes, tail, batch);
    if (const auto& types = hooks_->ValueTypes(event_id); !types.empty()) {
      if (!call_exit) return LoseRecord(batch);
      // Its enter has them all.
      values_.assign(types.size(), std::byte{0});
      return AddRecordWith(at, event_id, bytes, values_, batch);
    }
  }
  std::uint64_t* body = batch.Add(last_ns_, event_id, bytes / 8 - 1);
  std::memcpy(body, at + 8, bytes - 8);
  if (event_id == static_cast<std::uint16_t>(CpuEvent::kDispatch)) {
    const auto bits = static_cast<std::uint16_t>(body[0] >> 48);
    // FORMAT.md section 4.3: who may run on every CPU. A runnable thread then
    // has 0x100, by which older readers know it.
    const std::uint16_t any_cpu =
        bits & (logformat::kSwitchPrevAnyCpu | logformat::kSwitchNextAnyCpu);
    std::uint16_t state = MapSwitchState(bits & logformat::kSwitchStateBits);
    if (any_cpu != 0 && state == 0) state = logformat::kSwitchPreempted;
    state |= any_cpu;
    body[0] = (body[0] & 0xffff'ffff'ffff) | std::uint64_t{state} << 48;
    ++dispatches_;
  }
}

void KernelRingReader::LoseRecord(RecordBatch& batch) {
  ++unnamed_;
  *batch.Add(last_ns_, kLossEntry, 1) = 1;
}

void KernelRingReader::AddValues(const std::byte* at, std::uint16_t event_id,
                                 std::size_t before, RecordBatch& batch) {
  const ValuesWord word(at + before);
  const std::vector<logformat::PayloadType>& types =
      hooks_->ValueTypes(event_id);
  bool alike = types.size() == word.count();
  const std::byte* slot = at + before + sizeof(word.word);
  const countrace_stored_values* const window =
      hooks_->Window(static_cast<std::uint32_t>(WordAt(at + 8) >> 48),
                     (event_id & logformat::kEventExitBit) != 0);
  values_.clear();
  for (std::size_t i = 0; i < word.count() && alike; ++i) {
    alike = (types[i] == logformat::PayloadType::kString) == word.is_text(i);
    if (word.is_text(i)) {
      const std::string text = TextOf(slot);
      const auto* const bytes =
          reinterpret_cast<const std::byte*>(text.c_str());
      values_.insert(values_.end(), bytes, bytes + text.size() + 1);
    } else if (window != nullptr) {
      const std::uint64_t number =
          NumberAt(at + before + sizeof(word.word) - window->window_at,
                   window->values[i]);
      const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
      values_.insert(values_.end(), bytes, bytes + sizeof(number));
    } else {
      values_.insert(values_.end(), slot, slot + 8);
    }
    slot += word.slot_bytes(i);
  }
  if (!alike) return LoseRecord(batch);
  unreadable_ += static_cast<std::uint64_t>(word.unreadable());
  AddRecordWith(at, event_id, before, values_, batch);
}

void KernelRingReader::AddRecordWith(const std::byte* at,
                                     std::uint16_t event_id, std::size_t before,
                                     std::span<const std::byte> values,
                                     RecordBatch& batch) {
  const std::size_t body = before - 8 + values.size();
  const std::size_t words = (body + 7) / 8;
  std::uint64_t* const to = batch.Add(last_ns_, event_id, words);
  to[words - 1] = 0;
  std::memcpy(to, at + 8, before - 8);
  std::memcpy(to + (before / 8 - 1), values.data(), values.size());
  batch.SetPadding(words * 8 - body);
}

std::size_t KernelRingReader::TailBytes(const std::byte* at,
                                        std::uint16_t event_id,
                                        std::size_t bytes) const {
  if (event_id == COUNTRACE_EVENT_FILE) {
    return CallValues::FileBytes(WordAt(at + 8)) - bytes;
  }
  if (HasValues(event_id)) return ValuesWord(at + bytes).bytes();
  if (IsCallWithValues(event_id)) {
    return CallValues::ValueBytes(WordAt(at + bytes));
  }
  return 0;
}

void KernelRingReader::AddCallRecord(const std::byte* at,
                                     std::uint16_t event_id, std::size_t before,
                                     std::size_t tail, RecordBatch& batch) {
  const std::string_view values = calls_.Convert(
      static_cast<std::uint32_t>(WordAt(at + 8) >> 48),
      (event_id & logformat::kEventExitBit) != 0, std::span(at + before, tail));
  AddRecordWith(at, event_id, before, std::as_bytes(std::span(values)), batch);
}

void KernelRingReader::AddBlockRecord(const std::byte* at,
                                      std::uint16_t event_id, std::size_t bytes,
                                      RecordBatch& batch) {
  std::uint64_t values[COUNTRACE_BLOCK_VALUES] = {};
  const std::size_t before = bytes - sizeof(values);  // with the header word
  std::memcpy(values, at + before, sizeof(values));
  const std::string& device =
      devices_.Text(static_cast<std::uint32_t>(values[0]));
  const std::size_t text_words = device.size() / 8 + 1;  // with its NUL
  constexpr std::uint64_t kSectorBytes = 512;
  const std::size_t words = before / 8 - 1;
  std::uint64_t* const body =
      batch.Add(last_ns_, event_id, words + 2 + text_words);
  std::memcpy(body, at + 8, before - 8);
  body[words] = values[1];
  body[words + 1] = values[2] * kSectorBytes;
  std::fill_n(body + words + 2, text_words, std::uint64_t{0});
  std::memcpy(body + words + 2, device.data(), device.size());
  batch.SetPadding(text_words * 8 - device.size() - 1);
}

void KernelRingReader::Drain(RecordBatch& batch) {
  const std::size_t first = batch.size();
  // Pairs with the compare-exchange in reserve().
  const std::uint64_t head = Load(control_->head);
  const std::uint64_t begin = control_->tail;  // only we write it
  std::uint64_t tail = begin;
  if (head - begin < ring_bytes_ / 2) lost_in_row_ = 0;
  while (tail < head) {
    std::byte* const at = ring_ + (tail & (ring_bytes_ - 1));
    // Pairs with commit(): the body is there if the word is.
    const std::uint64_t word = Load(*reinterpret_cast<unsigned long long*>(at));
    if (word == 0) break;
    const std::uint16_t event_id = logformat::HeaderEventId(word);
    const std::size_t bytes = RecordBytes(event_id, counters_);
    // The slack has the word behind them.
    const std::size_t tail_bytes =
        bytes != 0 && tail + bytes <= head ? TailBytes(at, event_id, bytes) : 0;
    if (bytes == 0 || tail_bytes > COUNTRACE_RING_SLACK ||
        tail + bytes + tail_bytes > head ||
        (HasTail(event_id) && tail_bytes == 0)) {
      ++malformed_;
      tail = head;
      break;
    }
    // A record that another one interrupted may be slightly older.
    const std::uint64_t step =
        (logformat::HeaderTimeLow(word) - last_ns_) & logformat::kTimeMask;
    last_ns_ += step < logformat::kTimeMask / 2
                    ? step
                    : step - logformat::kTimeMask - 1;
    if (event_id == COUNTRACE_EVENT_LOST) {
      std::uint64_t lost = 0;
      std::memcpy(&lost, at + 8, sizeof(lost));
      AddLosses(lost, batch);
    } else if (event_id == COUNTRACE_EVENT_THREAD_IDS) {
      AddThreadIds(at);
    } else if (event_id == COUNTRACE_EVENT_FILE) {
      calls_.Define(std::span(at, bytes + tail_bytes));
    } else if (event_id == COUNTRACE_EVENT_PROGRAM) {
      AddProgram(at);
    } else {
      AddRecord(at, event_id, bytes, tail_bytes, batch);
    }
    tail += bytes + tail_bytes;
    ++read_entries_;
    read_bytes_ += bytes + tail_bytes;
  }
  GiveBack(begin, tail);
  batch.SortFrom(first);
}

void KernelRingReader::DrainLosses(RecordBatch& batch) {
  AddLosses(Load(control_->lost), batch);
}

void KernelRingReader::GiveBack(std::uint64_t from, std::uint64_t to) {
  if (from == to) return;
  // At most the whole ring: the discarded part may be longer than the ring.
  const std::uint64_t begin = from & (ring_bytes_ - 1);
  const std::uint64_t bytes = std::min(to - from, ring_bytes_);
  const std::uint64_t before_end =
      std::min(bytes, ring_bytes_ + COUNTRACE_RING_SLACK - begin);
  std::memset(ring_ + begin, 0, before_end);
  if (begin + bytes > ring_bytes_) {
    std::memset(ring_, 0, begin + bytes - ring_bytes_);
    std::memset(ring_ + ring_bytes_, 0, COUNTRACE_RING_SLACK);
  }
  // The zeroes are stored before a writer may overwrite them.
  std::atomic_ref(control_->tail).store(to, std::memory_order_release);
}

}  // namespace countrace::runtime
