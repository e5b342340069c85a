#include "logformat/read/record_walk.h"

#include "absl/strings/str_format.h"

namespace countrace::logformat {
namespace {

// Length of the hole whose header word is `word`, 0 if it is not one.
std::size_t HoleBytes(std::uint64_t word, std::size_t available) {
  const std::uint64_t untrusted_bytes = word >> 16;
  if (untrusted_bytes < kRecordAlignBytes ||
      untrusted_bytes % kRecordAlignBytes != 0 ||
      untrusted_bytes > kMaxRecordBytes || untrusted_bytes > available) {
    return 0;
  }
  return static_cast<std::size_t>(untrusted_bytes);
}

std::string DescribeDamage(const RecordTable& table, std::uint64_t word,
                           std::size_t at, std::size_t available) {
  const std::uint16_t id = HeaderEventId(word);
  if (id == kEventHole && table.fixed_bytes(id) == RecordTable::kUnknown) {
    return absl::StrFormat(
        "hole of %d bytes at record offset %d, %d bytes left", word >> 16, at,
        available);
  }
  if (table.fixed_bytes(id) == RecordTable::kUnknown) {
    return absl::StrFormat("unknown event id %d at record offset %d", id, at);
  }
  return absl::StrFormat(
      "record of event id %d at record offset %d does not end within %d bytes",
      id, at, available);
}

RecordTable::Measured LengthOf(const RecordTable& table, std::uint16_t id,
                               const std::byte* record, std::size_t available) {
  const std::size_t bytes = table.fixed_bytes(id);
  if (bytes == RecordTable::kVariable) {
    return table.Measure(id, record, available);
  }
  return {.padded_bytes = bytes, .exact_bytes = bytes};
}

}  // namespace

RecordWalk WalkRecords(const RecordTable& table,
                       std::span<const std::byte> records,
                       std::uint64_t begin_ns, bool open) {
  RecordWalk walk;
  walk.last_ns = begin_ns;
  const std::size_t size =
      records.size() / kRecordAlignBytes * kRecordAlignBytes;
  // In kCpu streams this id is an event; their writer reserves no space.
  const bool has_holes = table.fixed_bytes(kEventHole) == RecordTable::kUnknown;
  bool zero_run = false;      // a reserved word is possible here ...
  std::size_t run_begin = 0;  // of the current run of records
  const auto end_run = [&] {
    if (walk.end_bytes > run_begin) {
      walk.runs.push_back({run_begin, walk.end_bytes - run_begin});
    }
  };
  std::size_t at = 0;
  while (at < size) {
    const std::byte* record = records.data() + at;
    const std::uint64_t word = LoadWord(record);
    const std::uint16_t id = HeaderEventId(word);
    if (open && word == 0) {
      zero_run = true;
      at += kRecordAlignBytes;
      continue;
    }
    if (open && id == kEventHole && has_holes) {
      const std::size_t bytes = HoleBytes(word, size - at);
      if (bytes == 0) {
        walk.damage = DescribeDamage(table, word, at, size - at);
        walk.touched_bytes = size;
        break;
      }
      // ... and a record behind it proves it.
      if (zero_run) ++walk.holes;
      zero_run = false;
      ++walk.holes;
      at += bytes;
      walk.touched_bytes = at;
      continue;
    }
    const RecordTable::Measured length = LengthOf(table, id, record, size - at);
    const std::size_t bytes = length.padded_bytes;
    walk.cut_texts += length.cut_texts;
    if (bytes == RecordTable::kUnknown || bytes > size - at) {
      walk.damage = DescribeDamage(table, word, at, size - at);
      walk.touched_bytes = size;
      break;
    }
    if (zero_run) ++walk.holes;
    zero_run = false;
    if (at != walk.end_bytes) {
      end_run();
      run_begin = at;
    }
    const NextTime next = TimeAfter(walk.last_ns, word);
    walk.last_ns = next.time_ns;
    if (next.back) ++walk.clock_errors;
    ++walk.records;
    walk.exact_end_bytes = at + length.exact_bytes;
    at += bytes;
    walk.end_bytes = at;
    walk.touched_bytes = at;
  }
  end_run();
  if (!walk.damage.empty()) return walk;
  if (!open && walk.end_bytes != records.size()) {
    walk.damage = absl::StrFormat(
        "records end at record offset %d, the packet's content at %d",
        walk.end_bytes, records.size());
  }
  return walk;
}

std::vector<std::byte> CompactRecords(const RecordTable& table,
                                      std::span<const std::byte> records,
                                      const RecordWalk& walk,
                                      std::uint64_t begin_ns) {
  std::vector<std::byte> compact;
  compact.reserve(walk.end_bytes);
  for (const RecordRun& run : walk.runs) {
    const auto piece = records.subspan(run.offset, run.bytes);
    compact.insert(compact.end(), piece.begin(), piece.end());
  }
  if (walk.clock_errors == 0) return compact;
  std::uint64_t time_ns = begin_ns;
  for (std::size_t at = 0; at < compact.size();) {
    std::byte* record = compact.data() + at;
    const std::uint64_t word = LoadWord(record);
    const std::uint16_t id = HeaderEventId(word);
    time_ns = TimeAfter(time_ns, word).time_ns;
    const std::uint64_t clamped = HeaderWord(id, time_ns);
    std::memcpy(record, &clamped, sizeof(clamped));
    at += table.Measure(id, record, compact.size() - at).padded_bytes;
  }
  return compact;
}

}  // namespace countrace::logformat
