// Programs and libraries by libelf, which takes memory for each section that a
// file says it has, before it reads one.
//
// Thread: as libelf's handles are, one at a time.
#ifndef COUNTRACE_BASE_CODE_ELF_FILE_H_
#define COUNTRACE_BASE_CODE_ELF_FILE_H_

#include <gelf.h>
#include <libelf.h>

#include <memory>
#include <string>
#include <vector>

namespace countrace::base {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfEnd>;

// False: it has more sections than its head has room for, and libelf must not
// get it.
bool HasFewSections(int fd);
// Null: it is no ELF file, or has too many. `fd` must stay open.
ElfHandle OpenElf(int fd);
std::vector<GElf_Phdr> PartsOf(Elf* elf);
struct ElfSection {
  Elf_Scn* handle = nullptr;
  GElf_Shdr header;
  const char* name = "";
};
std::vector<ElfSection> SectionsOf(Elf* elf);
// Hexadecimal, of its sections or program headers; empty: it has none.
std::string BuildIdOf(Elf* elf);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_ELF_FILE_H_
