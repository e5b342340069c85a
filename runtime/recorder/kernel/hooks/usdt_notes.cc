#include "runtime/recorder/kernel/hooks/usdt_notes.h"

#include <unistd.h>

#include <cstring>
#include <string_view>

#include "absl/strings/str_format.h"
#include "base/code/elf_file.h"
#include "base/posix/regular_file.h"

namespace countrace::runtime {
namespace {

constexpr char kSection[] = ".note.stapsdt";
constexpr char kBaseSection[] = ".stapsdt.base";
constexpr char kOwner[] = "stapsdt";
constexpr std::uint32_t kNoteType = 3;
// Sections may share their bytes, so all of them together have this limit.
constexpr std::uint64_t kMostBytes = 4 << 20;

// Removes the NUL-terminated string at the front of `bytes`; false if it has no
// end.
bool TakeString(std::string_view& bytes, std::string& text) {
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos) return false;
  text.assign(bytes.substr(0, end));
  bytes.remove_prefix(end + 1);
  return true;
}

// Where an address is in the file; 0: nowhere.
std::uint64_t OffsetOf(std::uint64_t address,
                       const std::vector<GElf_Phdr>& parts) {
  for (const GElf_Phdr& part : parts) {
    if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
        address - part.p_vaddr < part.p_memsz) {
      return address - part.p_vaddr + part.p_offset;
    }
  }
  return 0;
}

// The file's layout.
struct Layout {
  std::size_t address_bytes = 8;
  std::vector<GElf_Phdr> parts;
  std::uint64_t base = 0;  // address of .stapsdt.base, 0: none
};

std::uint64_t ReadAddress(const char* at, std::size_t bytes) {
  std::uint64_t address = 0;
  if (bytes == 8) {
    std::memcpy(&address, at, 8);
  } else {
    std::uint32_t narrow = 0;
    std::memcpy(&narrow, at, 4);
    address = narrow;
  }
  return address;
}

// Three addresses (place, base, semaphore), then three strings.
bool DecodeNote(std::string_view description, const Layout& layout,
                UsdtNote& note) {
  const std::size_t step = layout.address_bytes;
  if (description.size() < 3 * step) return false;
  note.address = ReadAddress(description.data(), step);
  const std::uint64_t base = ReadAddress(description.data() + step, step);
  std::uint64_t semaphore = ReadAddress(description.data() + 2 * step, step);
  // prelink moves code but not notes; the base gives the distance.
  if (layout.base != 0 && base != 0) {
    note.address += layout.base - base;
    if (semaphore != 0) semaphore += layout.base - base;
  }
  note.offset = OffsetOf(note.address, layout.parts);
  if (semaphore != 0) {
    note.semaphore_offset = OffsetOf(semaphore, layout.parts);
  }
  description.remove_prefix(3 * step);
  return TakeString(description, note.provider) &&
         TakeString(description, note.name) &&
         TakeString(description, note.arguments);
}

absl::Status DecodeSection(const std::string& path, Elf_Data* data,
                           const Layout& layout, std::vector<UsdtNote>& notes) {
  GElf_Nhdr header;
  std::size_t offset = 0, name_offset = 0, description_offset = 0;
  while (offset < data->d_size) {
    const std::size_t next =
        gelf_getnote(data, offset, &header, &name_offset, &description_offset);
    // 0: the note extends beyond the section.
    if (next == 0) {
      return absl::DataLossError(absl::StrFormat(
          "cannot read the hooks of %s: note at byte %d of the %d of section "
          "%s reaches beyond it",
          path, offset, data->d_size, kSection));
    }
    const char* const bytes = static_cast<const char*>(data->d_buf);
    const std::string_view owner(bytes + name_offset, header.n_namesz);
    const bool ours = header.n_type == kNoteType &&
                      owner == std::string_view(kOwner, sizeof(kOwner));
    if (ours) {
      UsdtNote note;
      if (!DecodeNote({bytes + description_offset, header.n_descsz}, layout,
                      note)) {
        return absl::DataLossError(absl::StrFormat(
            "cannot read the hooks of %s: note at byte %d of section %s is cut "
            "short (%d bytes)",
            path, offset, kSection, header.n_descsz));
      }
      notes.push_back(std::move(note));
    }
    offset = next;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<UsdtNote>> ReadUsdtNotes(const std::string& path) {
  const auto file = base::OpenNamedFile(path);
  if (!file.ok()) return file.status();
  const base::ElfHandle elf = base::OpenElf(file->get());
  if (elf == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is neither a trace nor a program or library (ELF file)", path));
  }
  Layout layout;
  layout.address_bytes = gelf_getclass(elf.get()) == ELFCLASS64 ? 8 : 4;
  layout.parts = base::PartsOf(elf.get());
  std::vector<UsdtNote> notes;
  std::vector<Elf_Scn*> sections;
  std::uint64_t bytes = 0;
  for (const auto& [section, header, name] : base::SectionsOf(elf.get())) {
    if (std::strcmp(name, kBaseSection) == 0) layout.base = header.sh_addr;
    if (std::strcmp(name, kSection) != 0) continue;
    if (header.sh_size > kMostBytes - bytes) {
      return absl::DataLossError(
          absl::StrFormat("cannot read the hooks of %s: its sections %s have "
                          "more than %d bytes",
                          path, kSection, kMostBytes));
    }
    bytes += header.sh_size;
    sections.push_back(section);
  }
  for (Elf_Scn* const notes_section : sections) {
    Elf_Data* data = nullptr;
    while ((data = elf_getdata(notes_section, data)) != nullptr) {
      const absl::Status status = DecodeSection(path, data, layout, notes);
      if (!status.ok()) return status;
    }
  }
  return notes;
}

}  // namespace countrace::runtime
