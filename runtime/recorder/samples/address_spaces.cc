#include "runtime/recorder/samples/address_spaces.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/code/file_version.h"
#include "base/code/unwind_files.h"
#include "base/posix/scoped_fd.h"
#include "logformat/sample_points.h"
#include "runtime/recorder/samples/process_maps.h"

namespace countrace::runtime {

base::ScopedFd OpenMappedFile(const std::string& path) {
  // Not of a device nor a pipe; of a leased file at once or not at all.
  base::ScopedFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (fd.is_open() &&
      (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    fd = base::ScopedFd();
  }
  return fd;
}

std::string ReadBuildId(const base::ScopedFd& fd) {
  struct stat status;
  if (!fd.is_open() || elf_version(EV_CURRENT) == EV_NONE ||
      fstat(fd.get(), &status) != 0) {
    return "";
  }
  Elf* const elf = elf_begin(fd.get(), ELF_C_READ, nullptr);
  if (elf == nullptr) return "";
  const void* id = nullptr;
  const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
  std::string text;
  if (bytes > 0 && bytes <= 64) {
    text = absl::BytesToHexString(absl::string_view(
        static_cast<const char*>(id), static_cast<std::size_t>(bytes)));
  } else if (elf_kind(elf) == ELF_K_ELF) {
    text = base::FileVersion(status);
  }
  elf_end(elf);
  return text;
}

std::uint32_t CodeFiles::Number(const CodeFile& file) {
  const auto [found, added] = numbers_.try_emplace(
      absl::StrFormat("%d\n%s\n%s", file.pid, file.build_id, file.path),
      static_cast<std::uint32_t>(files_.size()));
  if (added) files_.push_back(file);
  return found->second;
}

AddressSpaces::AddressSpaces(CodeFiles& files)
    : files_(files),
      unknown_(files.Number({logformat::kUnknownCode, logformat::kNoText})) {}

std::string AddressSpaces::VersionOf(std::int32_t pid, const std::string& path,
                                     const MappedInode& inode) {
  if (!path.starts_with('/') || logformat::IsJitMapping(path)) return "";
  const std::string key =
      absl::StrFormat("%d\n%s\n%s", inode.number, inode.device, path);
  const auto known = build_ids_.find(key);
  if (known != build_ids_.end()) return known->second;
  // A container's process has another root.
  base::ScopedFd fd =
      OpenMappedFile(absl::StrFormat("/proc/%d/root%s", pid, path));
  if (!fd.is_open()) {
    // It has ended, and may have had another one.
    fd = OpenMappedFile(path);
    struct stat status;
    if (!fd.is_open() || fstat(fd.get(), &status) != 0 ||
        status.st_ino != inode.number) {
      return "";
    }
  }
  return build_ids_[key] = ReadBuildId(fd);
}

void AddressSpaces::Add(std::int32_t pid, std::uint64_t start,
                        std::uint64_t end, std::uint64_t offset,
                        std::string_view path, std::string build_id,
                        Space& space) {
  if (end <= start) return;
  jit_dumps_.OnMapping(pid, path);
  CodeFile file{std::string(path), std::move(build_id)};
  if (logformat::IsJitMapping(path)) {
    file = {logformat::kJitCode, "", pid};
    jit_dumps_.OnCode(pid);
    offset = start;  // absolute
  }
  if (file.build_id.empty()) file.build_id = logformat::kNoText;
  space.Map(start, end, offset, files_.Number(file));
}

void AddressSpaces::Scan(std::int32_t pid, Space& space) {
  for (const ProcessMapping& mapping : ReadProcessMaps(pid)) {
    if (!mapping.is_code) continue;
    Add(pid, mapping.start, mapping.end, mapping.offset, mapping.path,
        VersionOf(pid, mapping.path, {mapping.device, mapping.inode}), space);
  }
}

const AddressSpaces::Space& AddressSpaces::Known(std::int32_t pid) {
  std::shared_ptr<Space>& space = spaces_[pid];
  if (space == nullptr) {
    space = std::make_shared<Space>();
    Scan(pid, *space);
  }
  return *space;
}

AddressSpaces::Space& AddressSpaces::Own(std::int32_t pid) {
  Known(pid);
  std::shared_ptr<Space>& space = spaces_[pid];
  if (space.use_count() > 1) space = std::make_shared<Space>(*space);
  return *space;
}

void AddressSpaces::Map(std::int32_t pid, std::uint64_t start,
                        std::uint64_t bytes, std::uint64_t offset,
                        std::string_view path, std::string build_id) {
  if (start + bytes < start) return;
  Add(pid, start, start + bytes, offset, path, std::move(build_id), Own(pid));
}

void AddressSpaces::NewProgram(std::int32_t pid) {
  jit_dumps_.OnNewProgram(pid);
  spaces_[pid] = std::make_shared<Space>();
}

void AddressSpaces::Fork(std::int32_t parent_pid, std::int32_t pid) {
  Known(parent_pid);
  // A copy: a new entry may move the old ones.
  std::shared_ptr<Space> shared = spaces_[parent_pid];
  spaces_[pid] = std::move(shared);
}

CodePlace AddressSpaces::Find(std::int32_t pid, std::uint64_t address) {
  const auto place = Known(pid).Find(address);
  return place ? CodePlace{place->file, place->address}
               : CodePlace{unknown_, address};
}

bool AddressSpaces::Open(std::int32_t pid, std::uint32_t number,
                         base::UnwindFile& out) {
  const CodeFile& code = files_[number];
  if (code.path == logformat::kVdsoCode) return out.TakeVdso("");
  // As the process sees it; if it has ended, as the recorder does.
  return code.path.starts_with('/') &&
         (out.Take(absl::StrFormat("/proc/%d/root%s", pid, code.path),
                   code.build_id) ||
          out.Take(code.path, code.build_id));
}

bool AddressSpaces::OpenOwn(base::UnwindFile& out) {
  return out.Take("/proc/self/exe", "");
}

}  // namespace countrace::runtime
