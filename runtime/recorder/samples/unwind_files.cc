#include "runtime/recorder/samples/unwind_files.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "logformat/sample_points.h"

namespace countrace::runtime {
namespace {

base::ScopedFd OpenRegular(const std::string& path) {
  base::ScopedFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (fd.is_open() &&
      (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    fd = base::ScopedFd();
  }
  return fd;
}

std::string BuildIdOf(Elf* elf) {
  const void* id = nullptr;
  const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
  if (bytes <= 0) return logformat::kNoText;
  return absl::BytesToHexString(absl::string_view(
      static_cast<const char*>(id), static_cast<std::size_t>(bytes)));
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

UnwindFile::~UnwindFile() {
  if (elf_ != nullptr) elf_end(elf_);
}

std::optional<std::uint64_t> UnwindFile::AddressOf(std::uint64_t offset) const {
  for (const Part& part : parts_) {
    if (offset >= part.offset && offset - part.offset < part.bytes) {
      return part.address + (offset - part.offset);
    }
  }
  return std::nullopt;
}

void UnwindFile::ReadParts() {
  GElf_Ehdr head;
  if (gelf_getehdr(elf_, &head) == nullptr) return;
  entry_ = head.e_entry;
  std::size_t count = 0;
  elf_getphdrnum(elf_, &count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(elf_, static_cast<int>(i), &part) == nullptr ||
        part.p_type != PT_LOAD || part.p_vaddr + part.p_memsz < part.p_vaddr) {
      continue;
    }
    if (parts_.empty()) {
      begin_ = part.p_align == 0 ? part.p_vaddr : part.p_vaddr & -part.p_align;
    }
    end_ = std::max(end_, part.p_vaddr + part.p_memsz);
    parts_.push_back({part.p_offset, part.p_memsz, part.p_vaddr});
  }
}

bool UnwindFile::TakeVdso() {
  image_ = OwnVdso();
  if (image_.empty()) return false;
  elf_ = elf_memory(image_.data(), image_.size());
  return elf_ != nullptr;
}

bool UnwindFile::Take(const std::string& path, const std::string& build_id) {
  elf_version(EV_CURRENT);
  fd_ = OpenRegular(path);
  if (!fd_.is_open()) return false;
  elf_ = elf_begin(fd_.get(), ELF_C_READ, nullptr);
  // The kernel shows 20 bytes of a longer build id.
  return elf_ != nullptr && elf_kind(elf_) == ELF_K_ELF &&
         BuildIdOf(elf_).starts_with(build_id);
}

const UnwindFile* UnwindFiles::Find(std::int32_t pid, std::uint32_t number) {
  const auto [found, added] = open_.try_emplace(number);
  if (!added) return found->second.get();
  const CodeFile& code = files_[number];
  auto file = std::make_unique<UnwindFile>();
  bool taken = false;
  if (code.path == logformat::kVdsoCode) {
    taken = file->TakeVdso();
  } else if (code.path.starts_with('/')) {
    // As the process sees it; if it has ended, as the recorder does.
    taken = file->Take(absl::StrFormat("/proc/%d/root%s", pid, code.path),
                       code.build_id);
    if (!taken) {
      file = std::make_unique<UnwindFile>();
      taken = file->Take(code.path, code.build_id);
    }
  }
  if (taken) file->ReadParts();
  if (file->begin_ < file->end_) found->second = std::move(file);
  return found->second.get();
}

}  // namespace countrace::runtime
