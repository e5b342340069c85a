// 64-bit checksum of index sections: finds damage, not manipulation. It reads
// eight bytes a step, so that it is a small part of opening an index.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_CHECKSUM_H_
#define COUNTRACE_VIEWER_INDEX_FILE_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace countrace::viewer {

// Streaming: the sum does not depend on how the bytes are split, if every call
// but the last has a multiple of 8 bytes.
class Checksum {
 public:
  void Add(std::span<const std::byte> bytes) noexcept {
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + at, 8);
      Step(word);
    }
    if (at < bytes.size()) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, bytes.size() - at);
      Step(word ^ (std::uint64_t{bytes.size() - at} << 56));
    }
  }
  std::uint64_t value() const noexcept {
    std::uint64_t mixed = state_ ^ (state_ >> 29);
    mixed *= 0xbf58476d1ce4e5b9u;
    return mixed ^ (mixed >> 32);
  }

 private:
  void Step(std::uint64_t word) noexcept {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 32;
  }
  std::uint64_t state_ = 0x243f6a8885a308d3u;
};

inline std::uint64_t ChecksumOf(std::span<const std::byte> bytes) noexcept {
  Checksum sum;
  sum.Add(bytes);
  return sum.value();
}

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_CHECKSUM_H_
