// The values of a record in a ring (COUNTRACE_EVENT_VALUES): texts in slots,
// numbers in slots or in a window of the program's context. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_VALUE_SLOTS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_VALUE_SLOTS_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/hooks/argument_source.h"

namespace countrace::runtime {

// The word before a record's values (COUNTRACE_EVENT_VALUES).
struct ValuesWord {
  explicit ValuesWord(const std::byte* at) {
    std::memcpy(&word, at, sizeof(word));
  }
  std::size_t count() const { return word & 0xff; }
  bool is_text(std::size_t i) const { return (word >> (8 + i) & 1) != 0; }
  int unreadable() const { return std::popcount(word >> 16 & 0xff); }
  std::size_t slot_bytes(std::size_t i) const {
    return is_text(i) ? COUNTRACE_TEXT_ROOM : 8;
  }
  // The slots and the word; 0: no such word.
  std::size_t bytes() const {
    if (count() > COUNTRACE_STORED_VALUES) return 0;
    std::size_t sum = sizeof(word);
    for (std::size_t i = 0; i < count(); ++i) sum += slot_bytes(i);
    return sum;
  }
  std::uint64_t word = 0;
};

// The text in a slot.
inline std::string TextOf(const std::byte* slot) {
  std::int32_t read = 0;
  std::memcpy(&read, slot + COUNTRACE_TEXT_ROOM - sizeof(read), sizeof(read));
  if (read < 0) return "(unreadable)";
  if (read == 0) return "(null)";
  const char* const text = reinterpret_cast<const char*>(slot);
  if ((read & COUNTRACE_TEXT_IS_HEX) != 0) {
    const int bytes = read & (COUNTRACE_TEXT_IS_HEX - 1);
    return absl::BytesToHexString(std::string(
        text, static_cast<std::size_t>(std::min(bytes, COUNTRACE_TEXT_BYTES))));
  }
  const std::size_t length = strnlen(text, COUNTRACE_TEXT_BYTES + 1);
  if (length <= COUNTRACE_TEXT_BYTES) return std::string(text, length);
  // Not by `+`, of which GCC 12 warns in cross builds.
  return absl::StrCat(std::string(text, COUNTRACE_TEXT_BYTES - 1),
                      logformat::kCutTextEnd);
}

// The number that `source` has in the context at `begin`.
inline std::uint64_t NumberAt(const std::byte* begin,
                              const countrace_value_source& source) {
  std::uint64_t number = 0;
  std::memcpy(&number, begin + source.offset, source.bytes);
  const unsigned unused = 64 - 8u * source.bytes;
  const auto high = static_cast<std::int64_t>(number << unused);
  return source.is_signed != 0 ? static_cast<std::uint64_t>(high >> unused)
                               : number;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_VALUE_SLOTS_H_
