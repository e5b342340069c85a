#include "runtime/recorder/samples/address_spaces.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/code/unwind_files.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "logformat/sample_points.h"

namespace countrace::runtime {
std::string ReadBuildId(const std::string& path) {
  // Not of a device nor a pipe; of a leased file at once or not at all.
  const base::ScopedFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!fd.is_open() || fstat(fd.get(), &status) != 0 ||
      !S_ISREG(status.st_mode) || elf_version(EV_CURRENT) == EV_NONE) {
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

std::string AddressSpaces::BuildIdOf(std::int32_t pid,
                                     const std::string& path) {
  const auto [found, added] = build_ids_.try_emplace(path);
  // A container's process has another root.
  if (added) {
    found->second = ReadBuildId(absl::StrFormat("/proc/%d/root%s", pid, path));
  }
  return found->second;
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
  } else if (path.front() == '/' && file.build_id.empty()) {
    file.build_id = BuildIdOf(pid, file.path);
  }
  if (file.build_id.empty()) file.build_id = logformat::kNoText;
  space.Map(start, end, offset, files_.Number(file));
}

void AddressSpaces::Scan(std::int32_t pid, Space& space) {
  const auto maps = base::ReadSmallFile(absl::StrFormat("/proc/%d/maps", pid));
  if (!maps.ok()) return;  // it has ended
  for (const absl::string_view line : absl::StrSplit(*maps, '\n')) {
    // 7f00-7f80 r-xp 00001000 fe:00 1234 /usr/lib/libc.so.6
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(' ', 5));
    if (fields.size() < 5 || fields[1].size() < 3 || fields[1][2] != 'x') {
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> range =
        absl::StrSplit(fields[0], absl::MaxSplits('-', 1));
    std::uint64_t start = 0, end = 0, offset = 0;
    if (!absl::SimpleHexAtoi(range.first, &start) ||
        !absl::SimpleHexAtoi(range.second, &end) ||
        !absl::SimpleHexAtoi(fields[2], &offset)) {
      continue;
    }
    absl::string_view path = fields.size() > 5 ? fields[5] : "";
    while (!path.empty() && path.front() == ' ') path.remove_prefix(1);
    Add(pid, start, end, offset, {path.data(), path.size()}, "", space);
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
