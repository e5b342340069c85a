#include "logformat/import/perf/code_mappings.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/file_version.h"
#include "base/code/kept_files.h"
#include "base/code/unwind_files.h"
#include "logformat/sample_points.h"

namespace countrace::importer::perf {

CodeMappings::CodeMappings(const FileDescription& file,
                           const MachineFiles& machine)
    : description_(file),
      machine_(machine),
      unknown_(FileNamed(logformat::kUnknownCode)) {}

std::uint32_t CodeMappings::FileOf(std::int32_t pid, MappedFile file) {
  const auto [found, added] =
      numbers_.try_emplace(absl::StrFormat("%d\n%s\n%d\n%s", pid, file.build_id,
                                           file.inode, file.path),
                           static_cast<std::uint32_t>(files_.size()));
  if (added) files_.push_back(std::move(file));
  return found->second;
}

std::uint32_t CodeMappings::FileNamed(const char* path) {
  return FileOf(0, {path, logformat::kNoText});
}

std::uint32_t CodeMappings::FileOfData(const std::string& path,
                                       std::string build_id) {
  const auto known = description_.build_ids.find(path);
  if (build_id.empty() && known != description_.build_ids.end()) {
    build_id = known->second;
  }
  if (build_id.empty()) build_id = logformat::kNoText;
  return FileOf(0, {path, std::move(build_id)});
}

void CodeMappings::Map(const MappingRecord& mapping) {
  const std::uint64_t start = mapping.start, end = start + mapping.bytes;
  if (end <= start) return;
  MappedFile file{std::string(mapping.path), mapping.build_id};
  std::int32_t owner = 0;
  std::uint64_t offset = mapping.offset;
  if (logformat::IsJitMapping(mapping.path)) {
    file = {logformat::kJitCode, "", 0, mapping.pid};
    owner = mapping.pid;
    offset = start;  // absolute
  } else if (file.build_id.empty()) {
    const auto known = description_.build_ids.find(file.path);
    if (known != description_.build_ids.end()) file.build_id = known->second;
    file.inode = mapping.inode;
  }
  if (file.build_id.empty()) file.build_id = logformat::kNoText;
  Space& space = Own(mapping.pid);
  space.Map(start, end, offset, FileOf(owner, std::move(file)));
}

CodeMappings::Space& CodeMappings::Own(std::int32_t pid) {
  std::shared_ptr<Space>& space = spaces_[pid];
  if (space == nullptr) {
    space = std::make_shared<Space>();
  } else if (space.use_count() > 1) {
    space = std::make_shared<Space>(*space);
  }
  return *space;
}

void CodeMappings::NewProgram(std::int32_t pid) {
  spaces_[pid] = std::make_shared<Space>();
}

void CodeMappings::Fork(std::int32_t parent_pid, std::int32_t pid) {
  if (parent_pid == pid) return;  // a thread
  const auto parent = spaces_.find(parent_pid);
  if (parent == spaces_.end()) return;
  // A copy: a new entry may move the old ones.
  std::shared_ptr<Space> shared = parent->second;
  spaces_[pid] = std::move(shared);
}

base::CodePlace CodeMappings::Find(std::int32_t pid, std::uint64_t address) {
  const auto space = spaces_.find(pid);
  if (space == spaces_.end() || space->second == nullptr) {
    return {unknown_, address};
  }
  // "[vdso]" counts from its begin, as its mapping has no offset.
  const auto place = space->second->Find(address);
  return place ? base::CodePlace{place->file, place->address}
               : base::CodePlace{unknown_, address};
}

// Where no build id says it.
bool CodeMappings::IsRecordedOne(const MappedFile& file,
                                 const base::ScopedFd& fd) const {
  struct stat status;
  return file.inode != 0 && fstat(fd.get(), &status) == 0 &&
         status.st_ino == file.inode &&
         (machine_.recorded_until_ns == 0 ||
          base::ChangedNs(status) <= machine_.recorded_until_ns);
}

std::string CodeMappings::VersionOf(std::uint32_t number) const {
  const MappedFile& file = files_[number];
  if (file.build_id != logformat::kNoText || file.inode == 0 ||
      !file.path.starts_with('/') || machine_.object == nullptr) {
    return file.build_id;
  }
  const base::ScopedFd fd = machine_.object(file.path);
  struct stat status;
  return fd.is_open() && IsRecordedOne(file, fd) &&
                 fstat(fd.get(), &status) == 0
             ? base::FileVersion(status)
             : base::GoneFileVersion(file.inode);
}

bool CodeMappings::Open(std::int32_t /*pid*/, std::uint32_t number,
                        base::UnwindFile& out) {
  const MappedFile& file = files_[number];
  const bool has_id = file.build_id != logformat::kNoText;
  const auto take_cached = [&](const char* name) {
    return has_id && machine_.object != nullptr &&
           out.Take(machine_.object(base::KeptFile(file.build_id, name)),
                    file.build_id);
  };
  bool taken = false;
  if (file.path == logformat::kVdsoCode) {
    utsname here;
    const bool same = uname(&here) == 0 &&
                      description_.os_release == std::string(here.release);
    taken = ((has_id || same) && out.TakeVdso(has_id ? file.build_id : "")) ||
            take_cached("vdso");
  } else if (file.path.starts_with('/') && machine_.object != nullptr) {
    base::ScopedFd fd = machine_.object(file.path);
    taken = fd.is_open() && (has_id || IsRecordedOne(file, fd)) &&
            out.Take(std::move(fd), has_id ? file.build_id : "");
    taken = taken || take_cached("elf");
  } else {
    return false;
  }
  if (!taken) missing_.push_back(file.path);
  return taken;
}

bool CodeMappings::OpenOwn(base::UnwindFile& out) {
  return machine_.object != nullptr &&
         out.Take(machine_.object("/proc/self/exe"), "");
}

}  // namespace countrace::importer::perf
