#include "runtime/recorder/kernel/hooks/linkage.h"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace countrace::runtime {
namespace {

// The names that the loader writes addresses for, by the place of the address.
std::map<std::uint64_t, std::string> Slots(Elf* elf) {
  std::map<std::uint64_t, std::string> slots;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header, symbols;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type != SHT_RELA || header.sh_entsize == 0) continue;
    Elf_Scn* const table = elf_getscn(elf, header.sh_link);
    Elf_Data* const data = elf_getdata(section, nullptr);
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
      if (name != nullptr) slots.emplace(entry.r_offset, name);
    }
  }
  return slots;
}

// A stub is `jmp *slot(%rip)`, perhaps behind `endbr64` and a prefix. Stubs
// begin at multiples of 8.
void TakeStubs(const GElf_Shdr& header, const Elf_Data& code,
               const std::map<std::uint64_t, std::string>& slots,
               Linkage& linkage) {
  constexpr std::size_t kJump = 6, kStub = 8;
  const auto* const bytes = static_cast<const unsigned char*>(code.d_buf);
  for (std::size_t at = 0; at + kJump <= code.d_size; ++at) {
    if (bytes[at] != 0xff || bytes[at + 1] != 0x25) continue;
    std::int32_t distance = 0;
    std::memcpy(&distance, bytes + at + 2, sizeof distance);
    const auto slot = slots.find(header.sh_addr + at + kJump +
                                 static_cast<std::uint64_t>(distance));
    if (slot == slots.end()) continue;
    linkage.names.emplace(header.sh_offset + at / kStub * kStub, slot->second);
  }
}

}  // namespace

Linkage ReadLinkage(Elf* elf) {
  Linkage linkage;
  GElf_Ehdr file;
  std::size_t names = 0;
  if (gelf_getehdr(elf, &file) == nullptr ||
      elf_getshdrstrndx(elf, &names) != 0) {
    return linkage;
  }
  const auto slots = file.e_machine == EM_X86_64
                         ? Slots(elf)
                         : std::map<std::uint64_t, std::string>();
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || !std::string_view(name).starts_with(".plt") ||
        header.sh_type != SHT_PROGBITS) {
      continue;
    }
    linkage.ranges.push_back({header.sh_offset, header.sh_size});
    const Elf_Data* const code = elf_getdata(section, nullptr);
    if (code != nullptr && code->d_buf != nullptr) {
      TakeStubs(header, *code, slots, linkage);
    }
  }
  return linkage;
}

}  // namespace countrace::runtime
