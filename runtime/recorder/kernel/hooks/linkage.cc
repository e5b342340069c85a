#include "runtime/recorder/kernel/hooks/linkage.h"

#include <cstddef>
#include <cstring>
#include <set>
#include <string_view>

#include "base/code/elf_file.h"

namespace countrace::runtime {
namespace {

using Slots = std::map<std::uint64_t, LinkedFunction>;

// The numbers that symbols of the C library have in the table of versions.
std::set<int> VersionsOfCLibrary(Elf* elf) {
  std::set<int> numbers;
  for (const base::ElfSection& section : base::SectionsOf(elf)) {
    if (section.header.sh_type != SHT_GNU_verneed) continue;
    Elf_Data* const data = elf_getdata(section.handle, nullptr);
    GElf_Verneed file;
    for (int at = 0; data != nullptr && gelf_getverneed(data, at, &file);) {
      int version_at = at + static_cast<int>(file.vn_aux);
      GElf_Vernaux version;
      for (int i = 0; i < file.vn_cnt; ++i) {
        if (gelf_getvernaux(data, version_at, &version) == nullptr) break;
        const char* const name =
            elf_strptr(elf, section.header.sh_link, version.vna_name);
        if (name != nullptr && std::string_view(name).starts_with("GLIBC_")) {
          numbers.insert(version.vna_other);
        }
        version_at += static_cast<int>(version.vna_next);
      }
      if (file.vn_next == 0) break;
      at += static_cast<int>(file.vn_next);
    }
  }
  return numbers;
}

Elf_Data* VersionsOfSymbols(Elf* elf) {
  for (const base::ElfSection& section : base::SectionsOf(elf)) {
    if (section.header.sh_type == SHT_GNU_versym) {
      return elf_getdata(section.handle, nullptr);
    }
  }
  return nullptr;
}

// What the loader writes addresses of, by the place of the address.
Slots SlotsOf(Elf* elf) {
  Slots slots;
  const std::set<int> of_c_library = VersionsOfCLibrary(elf);
  Elf_Data* const versions = VersionsOfSymbols(elf);
  for (const base::ElfSection& section : base::SectionsOf(elf)) {
    const GElf_Shdr& header = section.header;
    GElf_Shdr symbols;
    if (header.sh_type != SHT_RELA || header.sh_entsize == 0) continue;
    Elf_Scn* const table = elf_getscn(elf, header.sh_link);
    Elf_Data* const data = elf_getdata(section.handle, nullptr);
    Elf_Data* const names = elf_getdata(table, nullptr);
    if (data == nullptr || names == nullptr ||
        gelf_getshdr(table, &symbols) == nullptr) {
      continue;
    }
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Rela entry;
      GElf_Sym symbol;
      if (gelf_getrela(data, i, &entry) == nullptr) break;
      const auto type = GELF_R_TYPE(entry.r_info);
      const auto number = static_cast<int>(GELF_R_SYM(entry.r_info));
      if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
          number == 0 || gelf_getsym(names, number, &symbol) == nullptr) {
        continue;
      }
      const char* const name = elf_strptr(elf, symbols.sh_link, symbol.st_name);
      if (name == nullptr) continue;
      GElf_Versym version = 0;
      const bool has_version =
          versions != nullptr && gelf_getversym(versions, number, &version);
      slots.emplace(
          entry.r_offset,
          LinkedFunction{name, has_version && of_c_library.contains(version)});
    }
  }
  return slots;
}

// A stub is `jmp *slot(%rip)`, perhaps behind `endbr64` and a prefix. Stubs
// begin at multiples of 8.
void TakeStubs(const GElf_Shdr& header, const Elf_Data& code,
               const Slots& slots, Linkage& linkage) {
  constexpr std::size_t kJump = 6, kStub = 8;
  const auto* const bytes = static_cast<const unsigned char*>(code.d_buf);
  for (std::size_t at = 0; at + kJump <= code.d_size; ++at) {
    if (bytes[at] != 0xff || bytes[at + 1] != 0x25) continue;
    std::int32_t distance = 0;
    std::memcpy(&distance, bytes + at + 2, sizeof distance);
    const auto slot = slots.find(header.sh_addr + at + kJump +
                                 static_cast<std::uint64_t>(distance));
    if (slot == slots.end()) continue;
    linkage.functions.emplace(header.sh_offset + at / kStub * kStub,
                              slot->second);
  }
}

}  // namespace

Linkage ReadLinkage(Elf* elf) {
  Linkage linkage;
  GElf_Ehdr file;
  if (gelf_getehdr(elf, &file) == nullptr) return linkage;
  const Slots slots = file.e_machine == EM_X86_64 ? SlotsOf(elf) : Slots();
  for (const base::ElfSection& section : base::SectionsOf(elf)) {
    const GElf_Shdr& header = section.header;
    if (!std::string_view(section.name).starts_with(".plt") ||
        header.sh_type != SHT_PROGBITS) {
      continue;
    }
    linkage.ranges.push_back({header.sh_offset, header.sh_size});
    const Elf_Data* const code = elf_getdata(section.handle, nullptr);
    if (code != nullptr && code->d_buf != nullptr) {
      TakeStubs(header, *code, slots, linkage);
    }
  }
  return linkage;
}

}  // namespace countrace::runtime
