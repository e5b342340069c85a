#include "runtime/recorder/samples/address_spaces.h"

#include <future>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/unwind_files.h"
#include "base/posix/regular_file.h"
#include "logformat/sample_points.h"

namespace countrace::runtime {
namespace {

// The files of a machine are looked at in a fraction of it.
constexpr std::chrono::milliseconds kLastLooks(500);
// For the parts of one file.
constexpr std::chrono::milliseconds kMostWait(20);

}  // namespace

std::uint32_t CodeFiles::Number(const CodeFile& file) {
  const auto [found, added] = numbers_.try_emplace(
      absl::StrFormat("%d\n%s\n%s", file.pid, file.build_id, file.path),
      static_cast<std::uint32_t>(files_.size()));
  if (!added) return found->second;
  files_.push_back(file);
  if (IsIdentityStandIn(file.build_id)) {
    const auto known = known_.find(file.build_id);
    files_.back().is_awaited = known == known_.end();
    if (known == known_.end()) awaited_[file.build_id] = found->second;
    files_.back().build_id =
        known == known_.end() ? logformat::kNoText : known->second;
  }
  return found->second;
}

void CodeFiles::Complete(const std::string& stand_in,
                         const std::string& build_id) {
  const std::string& text = known_[stand_in] =
      build_id.empty() ? logformat::kNoText : build_id;
  const auto file = awaited_.find(stand_in);
  if (file == awaited_.end()) return;
  files_[file->second].build_id = text;
  files_[file->second].is_awaited = false;
  if (!build_id.empty()) completed_.push_back(file->second);
  awaited_.erase(file);
}

AddressSpaces::AddressSpaces(CodeFiles& files)
    : files_(files),
      unknown_(files.Number({logformat::kUnknownCode, logformat::kNoText})) {}

std::string AddressSpaces::StandInOf(std::int32_t pid, const std::string& path,
                                     const MappedInode& inode) {
  if (!path.starts_with('/') || logformat::IsJitMapping(path)) return "";
  return identities_.Find(pid, path, inode);
}

void AddressSpaces::TakeIdentities() {
  for (const FileIdentities::Known& one : identities_.TakeKnown()) {
    files_.Complete(one.stand_in, one.identity);
  }
}

std::vector<logformat::ImagePart> AddressSpaces::ImagePartsOf(
    std::int32_t pid, const std::string& path) {
  using Parts = std::vector<logformat::ImagePart>;
  const auto result = std::make_shared<std::promise<Parts>>();
  std::future<Parts> parts = result->get_future();
  const bool waits = thread_.Add(pid, [pid, path, result] {
    // A container's process has another root.
    const auto fd =
        base::OpenRegularFile(absl::StrFormat("/proc/%d/root%s", pid, path));
    result->set_value(fd.ok() ? logformat::ReadImageParts(fd->get()) : Parts());
    return std::uint64_t{0};
  });
  const bool known =
      waits && parts.wait_for(kMostWait) == std::future_status::ready;
  return known ? parts.get() : Parts();
}

void AddressSpaces::EndIdentities(std::vector<std::string>& messages) {
  const std::size_t missing =
      thread_.Finish(kLastLooks) + identities_.refused();
  TakeIdentities();
  if (missing != 0) {
    messages.push_back(absl::StrFormat(
        "Mapped files were not looked at, so their build ids are not known: "
        "files=%d (at most %d wait, and %d MiB a second are read, for one "
        "process)",
        missing, FileThread::kMostWaiting, FileThread::kMostBytes >> 20));
  }
  if (!cut_maps_.empty()) {
    messages.push_back(absl::StrFormat(
        "Not all mappings were read, so addresses in the others are "
        "[unknown]: processes=%d (at most %d MiB of /proc/PID/maps)",
        cut_maps_.size(), kMostMapsBytes >> 20));
  }
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

std::vector<ProcessMapping> AddressSpaces::MappingsOf(std::int32_t pid) {
  ProcessMaps maps = ReadProcessMaps(pid);
  if (!maps.is_whole) cut_maps_.insert(pid);
  return std::move(maps.mappings);
}

void AddressSpaces::Scan(std::int32_t pid, Space& space) {
  for (const ProcessMapping& mapping : MappingsOf(pid)) {
    if (!mapping.is_code) continue;
    Add(pid, mapping.start, mapping.end, mapping.offset, mapping.path,
        StandInOf(pid, mapping.path, {mapping.device, mapping.inode}), space);
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
                   code.is_awaited ? "" : code.build_id) ||
          (!code.is_awaited && out.Take(code.path, code.build_id)));
}

bool AddressSpaces::OpenOwn(base::UnwindFile& out) {
  return out.Take("/proc/self/exe", "");
}

}  // namespace countrace::runtime
