#include "base/code/elf_identity.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "absl/strings/escaping.h"
#include "base/code/file_version.h"

namespace countrace::base {
namespace {

constexpr std::size_t kLongestBuildId = 64;
constexpr std::string_view kOwner("GNU\0", 4);

}  // namespace

std::string BuildIdIn(std::string_view notes, std::uint64_t align,
                      bool is_swapped) {
  const auto behind = [align](std::uint64_t end) {
    return (end + align - 1) / align * align;
  };
  Elf64_Nhdr head;  // as one of 32 bits
  for (std::uint64_t at = 0; at + sizeof(head) <= notes.size();) {
    std::memcpy(&head, &notes[static_cast<std::size_t>(at)], sizeof(head));
    const std::uint64_t bytes = InOrder(head.n_descsz, is_swapped);
    const std::uint64_t owner_at = at + sizeof(head);
    const std::uint64_t id_at =
        behind(owner_at + InOrder(head.n_namesz, is_swapped));
    if (id_at + bytes > notes.size()) return "";
    if (InOrder(head.n_type, is_swapped) == NT_GNU_BUILD_ID &&
        InOrder(head.n_namesz, is_swapped) == kOwner.size() &&
        notes.substr(owner_at).starts_with(kOwner) && bytes != 0 &&
        bytes <= kLongestBuildId) {
      return absl::BytesToHexString(std::string(notes.substr(id_at, bytes)));
    }
    at = behind(id_at + bytes);
  }
  return "";
}

ElfIdentity ReadElfIdentity(const ReadAt& read) {
  ElfIdentity out;
  const ReadAt counted = [&](std::uint64_t offset, std::span<std::byte> to) {
    const std::size_t bytes = read(offset, to);
    out.bytes_read += bytes;
    return bytes;
  };
  const auto head = ReadElfHead(counted);
  if (!head) return out;
  out.is_elf = true;
  std::size_t room = kMostNoteBytes;
  for (const ElfPart& part : head->parts) {
    if (part.type != PT_NOTE) continue;
    std::string notes(std::min<std::uint64_t>(part.file_bytes, room), '\0');
    room -= notes.size();
    notes.resize(
        counted(part.offset, std::as_writable_bytes(std::span(notes))));
    // Others than 8 mean 4, whatever they are.
    out.build_id = BuildIdIn(notes, part.align == 8 ? 8 : 4, head->is_swapped);
    if (!out.build_id.empty() || room == 0) break;
  }
  return out;
}

std::string ReadFileIdentity(int fd, std::uint64_t& bytes_read) {
  struct stat status;
  if (fstat(fd, &status) != 0) return "";
  ElfIdentity identity = ReadElfIdentity(ReadAtOf(fd));
  bytes_read += identity.bytes_read;
  if (!identity.is_elf) return "";
  return identity.build_id.empty() ? FileVersion(status) : identity.build_id;
}

}  // namespace countrace::base
