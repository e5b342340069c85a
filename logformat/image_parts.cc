#include "logformat/image_parts.h"

#include <elf.h>

#include <algorithm>
#include <limits>

#include "base/code/elf_head.h"

namespace countrace::logformat {
namespace {

constexpr std::uint64_t kLargestPage = 64 << 10;

}  // namespace

std::vector<ImagePart> ReadImageParts(int fd) {
  std::vector<ImagePart> parts;
  const auto head = base::ReadElfHead(base::ReadAtOf(fd));
  if (!head) return parts;
  for (const base::ElfPart& part : head->parts) {
    if (part.type != PT_LOAD) continue;
    parts.push_back({part.offset, part.file_bytes, part.memory_bytes});
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
