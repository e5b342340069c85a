#include "logformat/image_parts.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace countrace::logformat {
namespace {

// More are damage.
constexpr std::size_t kMostHeaders = 4096;
constexpr std::uint64_t kLargestPage = 64 << 10;

}  // namespace

std::vector<ImagePart> ReadImageParts(int fd) {
  Elf64_Ehdr head;
  constexpr unsigned char kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (pread(fd, &head, sizeof(head), 0) != ssize_t{sizeof(head)} ||
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != kOrder ||
      head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > kMostHeaders) {
    return {};
  }
  std::vector<Elf64_Phdr> headers(head.e_phnum);
  const auto bytes = static_cast<ssize_t>(headers.size() * sizeof(Elf64_Phdr));
  if (pread(fd, headers.data(), static_cast<std::size_t>(bytes),
            static_cast<off_t>(head.e_phoff)) != bytes) {
    return {};
  }
  std::vector<ImagePart> parts;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_LOAD) continue;
    parts.push_back({header.p_offset, header.p_filesz, header.p_memsz});
  }
  return parts;
}

std::uint64_t ImageEnd(const std::vector<ImagePart>& parts,
                       std::uint64_t mapped_end) {
  // The last one: two parts may share a page, and the zeros are behind both.
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const std::uint64_t room =
        std::numeric_limits<std::uint64_t>::max() - part->offset;
    const std::uint64_t file_end =
        part->offset + std::min(part->file_bytes, room);
    if (part->offset < mapped_end && file_end <= mapped_end &&
        mapped_end - file_end < kLargestPage) {
      return part->offset + std::min(part->memory_bytes, room);
    }
  }
  return 0;
}

}  // namespace countrace::logformat
