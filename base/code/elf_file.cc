#include "base/code/elf_file.h"

#include <elfutils/libdwelf.h>

#include "absl/strings/escaping.h"
#include "base/code/elf_head.h"

namespace countrace::base {

bool HasFewSections(int fd) {
  const auto head = ReadElfHead(ReadAtOf(fd));
  return !head || head->has_numbers;
}

ElfHandle OpenElf(int fd) {
  elf_version(EV_CURRENT);
  ElfHandle elf(HasFewSections(fd) ? elf_begin(fd, ELF_C_READ, nullptr)
                                   : nullptr);
  if (elf_kind(elf.get()) != ELF_K_ELF) elf.reset();
  return elf;
}

std::vector<GElf_Phdr> PartsOf(Elf* elf) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return {};
  std::vector<GElf_Phdr> parts;
  GElf_Phdr part;
  for (std::size_t i = 0; i < count; ++i) {
    if (gelf_getphdr(elf, static_cast<int>(i), &part) != nullptr) {
      parts.push_back(part);
    }
  }
  return parts;
}

std::vector<ElfSection> SectionsOf(Elf* elf) {
  std::size_t names = 0;
  const bool has_names = elf_getshdrstrndx(elf, &names) == 0;
  std::vector<ElfSection> sections;
  ElfSection one;
  while ((one.handle = elf_nextscn(elf, one.handle)) != nullptr) {
    if (gelf_getshdr(one.handle, &one.header) == nullptr) continue;
    const char* const name =
        has_names ? elf_strptr(elf, names, one.header.sh_name) : nullptr;
    one.name = name == nullptr ? "" : name;
    sections.push_back(one);
  }
  return sections;
}

std::string BuildIdOf(Elf* elf) {
  const void* id = nullptr;
  const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
  if (bytes <= 0) return "";
  return absl::BytesToHexString(absl::string_view(
      static_cast<const char*>(id), static_cast<std::size_t>(bytes)));
}

}  // namespace countrace::base
