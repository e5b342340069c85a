// Walks the records of one packet without decoding them: finds their end, their
// number, and damage (FORMAT.md, sections 4 and 7).
#ifndef COUNTRACE_LOGFORMAT_READ_RECORD_WALK_H_
#define COUNTRACE_LOGFORMAT_READ_RECORD_WALK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"
#include "logformat/read/record_table.h"

namespace countrace::logformat {

// A step of this much or more is a step back: the writer would have opened a
// new packet (packet_layout.h).
inline constexpr std::uint64_t kMaxTimeStepNs = std::uint64_t{1}
                                                << (kTimeBits - 1);

inline std::uint64_t LoadWord(const std::byte* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// Largest valid time (146 years); babeltrace2 adds the clock's offset to it in
// 63 bits.
inline constexpr std::uint64_t kMaxTimeNs = std::uint64_t{1} << 62;

// Step from `last_ns` to the record with header word `word`, if plausible.
inline std::uint64_t TimeStep(std::uint64_t last_ns,
                              std::uint64_t word) noexcept {
  return (HeaderTimeLow(word) - last_ns) & kTimeMask;
}
// False: the time went back, or beyond kMaxTimeNs.
inline bool IsStep(std::uint64_t last_ns, std::uint64_t time_ns) noexcept {
  return time_ns - last_ns < kMaxTimeStepNs && time_ns <= kMaxTimeNs;
}

struct NextTime {
  std::uint64_t time_ns;
  bool back;  // the time went back: the previous time is used instead
};
// Time of the record with header word `word` after one at `last_ns`.
inline NextTime TimeAfter(std::uint64_t last_ns, std::uint64_t word) noexcept {
  const std::uint64_t time_ns = last_ns + TimeStep(last_ns, word);
  if (!IsStep(last_ns, time_ns)) [[unlikely]]
    return {last_ns, true};
  return {time_ns, false};
}

// True if `end_ns` is a plausible stored end of a packet whose last record is
// at `last_ns`: a thread leaves a packet when it has no room for one more
// record, and reads the clock pair of the end after that.
inline bool IsPlausibleEnd(const PacketHead& head, std::uint64_t last_ns,
                           std::uint64_t end_ns) noexcept {
  constexpr std::uint64_t kClockErrorNs = 1'000'000;
  if (end_ns == last_ns) return true;
  return head.stream_class ==
             static_cast<std::uint32_t>(StreamClass::kThread) &&
         end_ns > last_ns && end_ns < head.monotonic_end + kClockErrorNs;
}

struct RecordRun {  // committed records without a hole between them
  std::size_t offset = 0, bytes = 0;
};

struct RecordWalk {
  std::uint64_t records = 0;
  std::uint64_t last_ns = 0;        // time of the last record, or `begin_ns`
  std::uint64_t holes = 0;          // records reserved and never committed
  std::uint64_t clock_errors = 0;   // records whose time went back
  std::uint64_t cut_texts = 0;      // strings that their writer cut
  std::vector<RecordRun> runs;      // offsets from the start of the walk
  std::size_t end_bytes = 0;        // end of the last record, padded
  std::size_t exact_end_bytes = 0;  // the same without its padding
  std::size_t touched_bytes = 0;    // all bytes behind it are 0 (open packets)
  // Empty: sound. Else the defect at `end_bytes`; the rest is unreadable.
  std::string damage;
};

// Walks `records`, which begin right after a packet head; `begin_ns` is the
// first time. In an open packet a zero word is an uncommitted record and a hole
// is skipped; in a closed one both are damage. Never reads outside `records`.
RecordWalk WalkRecords(const RecordTable& table,
                       std::span<const std::byte> records,
                       std::uint64_t begin_ns, bool open);

// Copies the runs of `walk` together. With clock errors the header words get
// the clamped times.
std::vector<std::byte> CompactRecords(const RecordTable& table,
                                      std::span<const std::byte> records,
                                      const RecordWalk& walk,
                                      std::uint64_t begin_ns);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_RECORD_WALK_H_
