// Reads numbers and texts from untrusted bytes, in either byte order. Reading
// beyond the end returns zeros and makes ok() false.
//
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_BYTE_READER_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_BYTE_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace countrace::importer::perf {

class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, bool swapped)
      : bytes_(bytes), swapped_(swapped) {}

  std::uint16_t U16() {
    const auto value = Take<std::uint16_t>();
    return swapped_ ? __builtin_bswap16(value) : value;
  }
  std::uint32_t U32() {
    const auto value = Take<std::uint32_t>();
    return swapped_ ? __builtin_bswap32(value) : value;
  }
  std::uint64_t U64() {
    const auto value = Take<std::uint64_t>();
    return swapped_ ? __builtin_bswap64(value) : value;
  }
  std::int32_t I32() { return static_cast<std::int32_t>(U32()); }

  // `count` bytes; fewer if fewer are left, and then ok() is false.
  std::span<const std::byte> Bytes(std::uint64_t count) {
    if (count > left()) ok_ = false;
    const auto taken = bytes_.subspan(
        at_, static_cast<std::size_t>(std::min<std::uint64_t>(count, left())));
    at_ += taken.size();
    return taken;
  }
  void Skip(std::uint64_t count) { Bytes(count); }
  // `count` bytes, up to the first NUL in them.
  std::string_view Text(std::uint64_t count) {
    const auto bytes = Bytes(count);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                                bytes.size());
    return text.substr(0, text.find('\0'));
  }
  // Up to a NUL, which is skipped too.
  std::string_view Line() {
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const void* end = left() == 0 ? nullptr : std::memchr(begin, 0, left());
    if (end == nullptr) {
      ok_ = false;
      return {};
    }
    const std::string_view text(begin, static_cast<const char*>(end));
    at_ += text.size() + 1;
    return text;
  }

  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t at() const { return at_; }
  bool ok() const { return ok_; }
  bool swapped() const { return swapped_; }

 private:
  template <typename T>
  T Take() {
    T value{};
    if (left() < sizeof(T)) {
      ok_ = false;
      at_ = bytes_.size();
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool swapped_, ok_ = true;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_BYTE_READER_H_
