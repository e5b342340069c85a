// Which version of a program or library a file is: its build id, as its notes
// have it.
//
// In: any file, as in elf_head.h; at most 64 KiB of notes are read. Out: a
// text. The table of sections is not read: what is mapped as code has its notes
// in a segment. Thread: any.
#ifndef COUNTRACE_BASE_CODE_ELF_IDENTITY_H_
#define COUNTRACE_BASE_CODE_ELF_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/code/elf_head.h"
#include "base/code/read_at.h"

namespace countrace::base {

inline constexpr std::size_t kMostNoteBytes = 64 << 10;

struct ElfIdentity {
  bool is_elf = false;   // of 32 or 64 bits, of either byte order
  std::string build_id;  // hexadecimal; empty: it has none
  std::uint64_t bytes_read = 0;
};
ElfIdentity ReadElfIdentity(const ReadAt& read);

// The build id in notes, hexadecimal; empty: there is none. `align`: 4 or 8.
// `is_swapped`: they are of the other byte order.
std::string BuildIdIn(std::string_view notes, std::uint64_t align = 4,
                      bool is_swapped = false);

// The build id; of a file without one its version (file_version.h); empty: it
// is no such file. Adds to `bytes_read`.
std::string ReadFileIdentity(int fd, std::uint64_t& bytes_read);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_ELF_IDENTITY_H_
