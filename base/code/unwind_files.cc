#include "base/code/unwind_files.h"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/code/elf_identity.h"
#include "base/code/file_version.h"
#include "base/posix/regular_file.h"

namespace countrace::base {
namespace {

std::string BuildIdOf(const ReadAt& read) {
  const ElfIdentity identity = ReadElfIdentity(read);
  return identity.build_id.empty() ? kNoBuildId : identity.build_id;
}

// The kernel maps the same vdso into each program of this processor. Its
// sections' table is its end.
std::string OwnVdso() {
  const unsigned long at = getauxval(AT_SYSINFO_EHDR);
  if (at == 0) return "";
  const char* const image = reinterpret_cast<const char*>(at);
  Elf64_Ehdr head;
  std::memcpy(&head, image, sizeof(head));
  if (head.e_ident[EI_CLASS] != ELFCLASS64) return "";
  const std::size_t bytes =
      head.e_shoff + std::size_t{head.e_shnum} * head.e_shentsize;
  constexpr std::size_t kLargest = 1 << 16;
  return bytes > kLargest ? "" : std::string(image, bytes);
}

}  // namespace

std::optional<std::uint64_t> UnwindFile::AddressOf(std::uint64_t offset) const {
  for (const Part& part : parts_) {
    if (offset >= part.offset && offset - part.offset < part.bytes) {
      return part.address + (offset - part.offset);
    }
  }
  return std::nullopt;
}

bool UnwindFile::TakeElf(ElfHandle elf) {
  if (elf == nullptr) return false;
  elf_ = std::move(elf);
  GElf_Ehdr head;
  if (gelf_getehdr(elf_.get(), &head) == nullptr) return true;
  entry_ = head.e_entry;
  for (const GElf_Phdr& part : PartsOf(elf_.get())) {
    if (part.p_type != PT_LOAD || part.p_vaddr + part.p_memsz < part.p_vaddr) {
      continue;
    }
    if (parts_.empty()) {
      begin_ = part.p_align == 0 ? part.p_vaddr : part.p_vaddr & -part.p_align;
    }
    end_ = std::max(end_, part.p_vaddr + part.p_memsz);
    parts_.push_back({part.p_offset, part.p_memsz, part.p_vaddr});
  }
  return true;
}

bool UnwindFile::TakeVdso(const std::string& build_id) {
  elf_version(EV_CURRENT);
  image_ = OwnVdso();
  return !image_.empty() &&
         BuildIdOf(ReadAtOf(std::string_view(image_))).starts_with(build_id) &&
         TakeElf(ElfHandle(elf_memory(image_.data(), image_.size())));
}

bool UnwindFile::Take(const std::string& path, const std::string& build_id) {
  auto fd = OpenRegularFile(path);
  return fd.ok() && Take(*std::move(fd), build_id);
}

bool UnwindFile::Take(ScopedFd fd, const std::string& build_id) {
  if (!fd.is_open()) return false;
  if (IsFileVersion(build_id)) {
    struct stat status;
    if (fstat(fd.get(), &status) != 0 || FileVersion(status) != build_id) {
      return false;
    }
    // The kernel shows 20 bytes of a longer build id.
  } else if (!BuildIdOf(ReadAtOf(fd.get())).starts_with(build_id)) {
    return false;
  }
  if (!TakeElf(OpenElf(fd.get()))) return false;
  fd_ = std::move(fd);
  return true;
}

const UnwindFile* UnwindFiles::Find(std::int32_t pid, std::uint32_t number) {
  const auto [found, added] = open_.try_emplace(number);
  if (!added) return found->second.get();
  auto file = std::make_unique<UnwindFile>();
  if (map_.Open(pid, number, *file) && file->begin() < file->end()) {
    found->second = std::move(file);
  }
  return found->second.get();
}

}  // namespace countrace::base
