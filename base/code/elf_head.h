// The head of a program or library, and its program headers.
//
// In: any file; its owner may have put anything into it. It is read by pread(2)
// alone, at most 1,000 program headers: sizes that a file says cost neither
// memory nor time. Thread: any.
#ifndef COUNTRACE_BASE_CODE_ELF_HEAD_H_
#define COUNTRACE_BASE_CODE_ELF_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/code/read_at.h"

namespace countrace::base {

// A number of a file, of this or the other byte order.
template <typename T>
T InOrder(T number, bool is_swapped) {
  if (!is_swapped) return number;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(number);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(number);
  return static_cast<T>(__builtin_bswap64(number));
}

inline constexpr std::size_t kMostProgramHeaders = 1'000;

struct ElfPart {
  std::uint64_t type = 0;  // PT_LOAD, ...
  std::uint64_t offset = 0, file_bytes = 0, memory_bytes = 0, align = 0;
};

struct ElfHead {
  bool is_swapped = false;  // of the other byte order
  std::uint64_t type = 0;   // ET_EXEC, ...
  // False: the numbers of its sections or program headers do not fit into it,
  // as those of no program or library, and may be billions. libelf takes memory
  // for each section that a file says it has, before it reads one.
  bool has_numbers = false;
  std::vector<ElfPart> parts;
};
// Absent: it is no ELF file of 32 or 64 bits.
std::optional<ElfHead> ReadElfHead(const ReadAt& read);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_ELF_HEAD_H_
