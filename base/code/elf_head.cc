#include "base/code/elf_head.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

namespace countrace::base {
namespace {

using HeadBytes = std::array<std::byte, sizeof(Elf64_Ehdr)>;

template <typename Head, typename Part>
void Take(const HeadBytes& bytes, const ReadAt& read, ElfHead& out) {
  Head head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  const auto of = [&out](auto number) {
    return InOrder(number, out.is_swapped);
  };
  out.type = of(head.e_type);
  out.has_numbers =
      head.e_phnum != PN_XNUM && (head.e_shnum != 0 || head.e_shoff == 0);
  if (of(head.e_phentsize) != sizeof(Part)) return;
  std::vector<Part> parts(
      std::min<std::size_t>(of(head.e_phnum), kMostProgramHeaders));
  parts.resize(
      read(of(head.e_phoff), std::as_writable_bytes(std::span(parts))) /
      sizeof(Part));
  for (const Part& part : parts) {
    out.parts.push_back({of(part.p_type), of(part.p_offset), of(part.p_filesz),
                         of(part.p_memsz), of(part.p_align)});
  }
}

}  // namespace

std::optional<ElfHead> ReadElfHead(const ReadAt& read) {
  HeadBytes bytes{};
  const std::size_t have = read(0, bytes);
  if (have < sizeof(Elf32_Ehdr) ||
      std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return std::nullopt;
  }
  constexpr int kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  const int order = std::to_integer<int>(bytes[EI_DATA]);
  if (order != ELFDATA2LSB && order != ELFDATA2MSB) return std::nullopt;
  ElfHead out;
  out.is_swapped = order != kOrder;
  const int bits = std::to_integer<int>(bytes[EI_CLASS]);
  if (bits == ELFCLASS32) {
    Take<Elf32_Ehdr, Elf32_Phdr>(bytes, read, out);
  } else if (bits == ELFCLASS64 && have == bytes.size()) {
    Take<Elf64_Ehdr, Elf64_Phdr>(bytes, read, out);
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace countrace::base
