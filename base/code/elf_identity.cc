#include "base/code/elf_identity.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/code/file_version.h"

namespace countrace::base {
namespace {

constexpr std::size_t kLongestBuildId = 64;
constexpr std::string_view kOwner("GNU\0", 4);

// Numbers of a part of the file, in its byte order.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, bool big_endian)
      : bytes_(bytes), big_endian_(big_endian) {}

  // Requires: they lie in the part.
  std::uint64_t At(std::size_t offset, std::size_t size) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = offset + (big_endian_ ? i : size - 1 - i);
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at]);
    }
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool big_endian_;
};

// Empty: none of them is a build id.
std::string BuildIdIn(std::span<const std::byte> notes, bool big_endian,
                      std::uint64_t align) {
  const auto behind = [align](std::uint64_t end) {
    return (end + align - 1) / align * align;
  };
  const Fields fields(notes, big_endian);
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    const auto begin = static_cast<std::size_t>(at);
    const std::uint64_t owner_bytes = fields.At(begin, 4);
    const std::uint64_t bytes = fields.At(begin + 4, 4);
    const std::uint64_t owner_at = at + sizeof(Elf64_Nhdr);
    const std::uint64_t id_at = behind(owner_at + owner_bytes);
    if (id_at + bytes > notes.size()) return "";
    if (fields.At(begin + 8, 4) == NT_GNU_BUILD_ID &&
        owner_bytes == kOwner.size() && bytes != 0 &&
        bytes <= kLongestBuildId &&
        std::memcmp(&notes[static_cast<std::size_t>(owner_at)], kOwner.data(),
                    kOwner.size()) == 0) {
      return absl::BytesToHexString(
          absl::string_view(reinterpret_cast<const char*>(
                                &notes[static_cast<std::size_t>(id_at)]),
                            static_cast<std::size_t>(bytes)));
    }
    at = behind(id_at + bytes);
  }
  return "";
}

}  // namespace

ElfIdentity ReadElfIdentity(const ReadAt& read) {
  ElfIdentity out;
  const auto part = [&](std::uint64_t at, std::size_t bytes) {
    std::vector<std::byte> text(bytes);
    text.resize(read(at, text));
    out.bytes_read += text.size();
    return text;
  };
  const std::vector<std::byte> head = part(0, sizeof(Elf64_Ehdr));
  if (head.size() < sizeof(Elf32_Ehdr) ||
      std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) {
    return out;
  }
  const auto ident = [&](std::size_t at) {
    return std::to_integer<int>(head[at]);
  };
  const bool is_64 = ident(EI_CLASS) == ELFCLASS64;
  const bool big_endian = ident(EI_DATA) == ELFDATA2MSB;
  if ((!is_64 && ident(EI_CLASS) != ELFCLASS32) ||
      (!big_endian && ident(EI_DATA) != ELFDATA2LSB) ||
      (is_64 && head.size() < sizeof(Elf64_Ehdr))) {
    return out;
  }
  out.is_elf = true;
  // A number has 8 bytes or 4.
  const std::size_t wide = is_64 ? 8 : 4;
  const std::size_t each = is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
#define AT(type, field) \
  (is_64 ? offsetof(Elf64_##type, field) : offsetof(Elf32_##type, field))
  const Fields fields(head, big_endian);
  if (fields.At(AT(Ehdr, e_phentsize), 2) != each) return out;
  const auto count = std::min<std::size_t>(
      static_cast<std::size_t>(fields.At(AT(Ehdr, e_phnum), 2)),
      kMostProgramHeaders);
  const std::vector<std::byte> headers =
      part(fields.At(AT(Ehdr, e_phoff), wide), count * each);
  std::size_t room = kMostNoteBytes;
  for (std::size_t at = 0; at + each <= headers.size(); at += each) {
    const Fields one(std::span<const std::byte>(headers).subspan(at, each),
                     big_endian);
    if (one.At(0, 4) != PT_NOTE) continue;
    const auto bytes = static_cast<std::size_t>(
        std::min<std::uint64_t>(one.At(AT(Phdr, p_filesz), wide), room));
    room -= bytes;
    // Others than 8 mean 4, whatever they are.
    const std::uint64_t align = one.At(AT(Phdr, p_align), wide) == 8 ? 8 : 4;
    out.build_id = BuildIdIn(part(one.At(AT(Phdr, p_offset), wide), bytes),
                             big_endian, align);
    if (!out.build_id.empty() || room == 0) break;
  }
#undef AT
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
