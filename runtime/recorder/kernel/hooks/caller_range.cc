#include "runtime/recorder/kernel/hooks/caller_range.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/code/elf_file.h"
#include "base/posix/regular_file.h"

namespace countrace::runtime {
absl::StatusOr<FileRange> CodeRangeInFile(const std::string& path,
                                          std::uint64_t begin,
                                          std::uint64_t end) {
  const auto file = base::OpenNamedFile(path);
  if (!file.ok()) return file.status();
  const base::ElfHandle elf = base::OpenElf(file->get());
  if (elf == nullptr) {
    return absl::InvalidArgumentError(
        path + " is not a program or library (ELF file)");
  }
  for (const GElf_Phdr& segment : base::PartsOf(elf.get())) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 ||
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
