// Size of a record by its event id, for every walk over a packet; the common
// case is one table load.
#ifndef COUNTRACE_LOGFORMAT_READ_RECORD_TABLE_H_
#define COUNTRACE_LOGFORMAT_READ_RECORD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "logformat/event_schema.h"
#include "logformat/packet_layout.h"

namespace countrace::logformat {

// Record sizes of one stream class. Immutable after construction.
class RecordTable {
 public:
  RecordTable(const std::vector<EventClass>& classes, StreamClass stream_class);

  static constexpr std::uint16_t kUnknown = 0;   // no such event class
  static constexpr std::uint16_t kVariable = 1;  // holds a string: Measure()

  // Size in bytes with padding, or kUnknown, or kVariable.
  std::uint16_t fixed_bytes(std::uint16_t event_id) const noexcept {
    return fixed_bytes_[event_id];
  }

  // Sizes of all 65,536 ids, for loops that keep the address in a register.
  const std::uint16_t* fixed_bytes() const noexcept {
    return fixed_bytes_.data();
  }

  struct Measured {
    std::size_t padded_bytes;     // 0: does not fit or is not a record
    std::size_t exact_bytes;      // without the padding at its end
    std::uint64_t cut_texts = 0;  // strings that the writer cut
  };
  // Size of the record at `record`, of which `available` bytes may be read.
  // Never reads beyond them.
  Measured Measure(std::uint16_t event_id, const std::byte* record,
                   std::size_t available) const noexcept;

 private:
  std::vector<std::uint16_t> fixed_bytes_;
  // For kVariable ids: bytes between strings. {8, 16}: 8 bytes after the header
  // word, a string, 16 bytes.
  std::map<std::uint16_t, std::vector<std::size_t>> variable_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_RECORD_TABLE_H_
