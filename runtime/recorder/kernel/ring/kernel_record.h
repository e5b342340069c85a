// Kernel records between a perf ring (or BPF map) and a cpu-N stream.
//
// A batch keeps the bodies of its records, already in logformat's layout, in
// one array of words, so that sorting and merging move only small entries.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_KERNEL_RECORD_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_KERNEL_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

// Event id of a loss entry, which is no record: its body is one word, the
// number of records lost before the next entry.
inline constexpr std::uint16_t kLossEntry = 0;

// Event id of another entry that is no record: one word, the values that dumps
// from here on count (bit i: value i). Used where dumps have no such bits
// themselves.
inline constexpr std::uint16_t kCountedEntry = 0xffff;

struct KernelRecord {
  std::uint64_t time_ns = 0;            // CLOCK_MONOTONIC
  std::size_t body = 0;                 // first word in RecordBatch::words
  std::uint16_t event_id = kLossEntry;  // logformat::CpuEvent
  std::uint16_t body_words = 0;         // without the header word
  std::uint8_t padding = 0;  // bytes at their end that are not of the record
};

class RecordBatch {
 public:
  // Appends a record with an uninitialized body of `words` words; returns it.
  std::uint64_t* Add(std::uint64_t time_ns, std::uint16_t event_id,
                     std::size_t words) {
    records_.push_back({.time_ns = time_ns,
                        .body = words_.size(),
                        .event_id = event_id,
                        .body_words = static_cast<std::uint16_t>(words)});
    words_.resize(words_.size() + words);
    return words_.data() + records_.back().body;
  }
  // Makes pages for so many bytes of records resident.
  void Reserve(std::uint64_t bytes) {
    const std::size_t used = words_.size();
    words_.resize(used + static_cast<std::size_t>(bytes / sizeof(words_[0])));
    words_.resize(used);
  }
  // The last `bytes` of the record that was added last are padding.
  void SetPadding(std::size_t bytes) {
    records_.back().padding = static_cast<std::uint8_t>(bytes);
  }
  // Appends a record whose body is `tail_of` a logformat struct without its
  // header word.
  template <typename Record>
  void AddStruct(std::uint64_t time_ns, logformat::CpuEvent event,
                 const Record& record) {
    static_assert(sizeof(Record) % 8 == 0);
    std::uint64_t* body =
        Add(time_ns, static_cast<std::uint16_t>(event), sizeof(Record) / 8 - 1);
    std::memcpy(body, reinterpret_cast<const std::byte*>(&record) + 8,
                sizeof(Record) - 8);
  }
  template <typename Record>
  Record Body(const KernelRecord& record) const {
    Record copy{};
    std::memcpy(reinterpret_cast<std::byte*>(&copy) + 8,
                words_.data() + record.body, sizeof(Record) - 8);
    return copy;
  }
  const std::uint64_t* Words(const KernelRecord& record) const {
    return words_.data() + record.body;
  }
  std::span<const std::byte> Bytes(const KernelRecord& record) const {
    return std::as_bytes(
               std::span(words_.data() + record.body, record.body_words))
        .first(record.body_words * sizeof(std::uint64_t) - record.padding);
  }

  // Restores time order from `first` on (records of one CPU are nearly in
  // order). Equal times keep their order. Returns how many were out of order.
  std::uint64_t SortFrom(std::size_t first);

  // Drops the first `count` records. Room that none of the last kRounds calls
  // needed a quarter of goes back to the system: a recorder that was late once
  // would keep the size of its rings.
  void Consume(std::size_t count);

  static constexpr std::size_t kRounds = 256;
  static constexpr std::size_t kKeptBytes = 1 << 20;

  const std::vector<KernelRecord>& records() const { return records_; }
  std::size_t size() const { return records_.size(); }
  std::size_t room_bytes() const {
    return records_.capacity() * sizeof(records_[0]) +
           (words_.capacity() + spare_words_.capacity()) * sizeof(words_[0]);
  }

 private:
  void DropUnusedRoom(std::size_t used_words);

  std::vector<KernelRecord> records_;
  std::vector<std::uint64_t> words_, spare_words_;
  std::size_t rounds_ = 0, most_words_ = 0;  // of the last calls of Consume()
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_KERNEL_RECORD_H_
