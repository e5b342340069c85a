#include "runtime/recorder/kernel/hooks/caller_range.h"

#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_format.h"
#include "base/posix/regular_file.h"

namespace countrace::runtime {
namespace {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

}  // namespace

absl::StatusOr<FileRange> CodeRangeInFile(const std::string& path,
                                          std::uint64_t begin,
                                          std::uint64_t end) {
  const auto file = base::OpenNamedFile(path);
  if (!file.ok()) return file.status();
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, ElfEnd> elf(
      elf_begin(file->get(), ELF_C_READ, nullptr));
  std::size_t count = 0;
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF ||
      elf_getphdrnum(elf.get(), &count) != 0) {
    return absl::InvalidArgumentError(
        path + " is not a program or library (ELF file)");
  }
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf.get(), static_cast<int>(i), &segment) == nullptr ||
        segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 ||
        begin < segment.p_vaddr ||
        begin - segment.p_vaddr >= segment.p_filesz) {
      continue;
    }
    const std::uint64_t last = segment.p_vaddr + segment.p_filesz;
    return FileRange{begin - segment.p_vaddr + segment.p_offset,
                     std::min(end, last) - segment.p_vaddr + segment.p_offset};
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s has no code at 0x%x (`nm` prints where it has)", path, begin));
}

}  // namespace countrace::runtime
