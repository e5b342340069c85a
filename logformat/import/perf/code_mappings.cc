#include "logformat/import/perf/code_mappings.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "logformat/import/perf/byte_reader.h"
#include "logformat/sample_points.h"

namespace countrace::importer::perf {
namespace {

// The kernel's flag of MMAP2 records that have a build id; since Linux 5.12.
constexpr std::uint16_t kHasBuildId = 1 << 14;
constexpr std::size_t kBuildIdBytes = 20;

}  // namespace

CodeMappings::CodeMappings(const FileDescription& file)
    : description_(file),
      unknown_(FileOf(0, {logformat::kUnknownCode, logformat::kNoText})),
      kernel_(FileOf(0, {logformat::kKernelCode, logformat::kNoText})) {}

std::uint32_t CodeMappings::FileOf(std::int32_t pid, MappedFile file) {
  const auto [found, added] = numbers_.try_emplace(
      absl::StrFormat("%d\n%s\n%s", pid, file.build_id, file.path),
      static_cast<std::uint32_t>(files_.size()));
  if (added) files_.push_back(std::move(file));
  return found->second;
}

bool CodeMappings::OnRecord(const RawRecord& record) {
  ByteReader body(record.body, description_.swapped);
  const std::int32_t pid = body.I32();
  body.Skip(4);  // tid
  const std::uint64_t start = body.U64(), bytes = body.U64(),
                      offset = body.U64();
  bool is_code = (record.misc & PERF_RECORD_MISC_MMAP_DATA) == 0;
  std::string build_id;
  if (record.type == PERF_RECORD_MMAP2) {
    const std::span<const std::byte> identity = body.Bytes(24);
    is_code = (body.U32() & PROT_EXEC) != 0;
    body.Skip(4);  // flags
    if ((record.misc & kHasBuildId) != 0 && identity.size() == 24) {
      const auto size = static_cast<std::size_t>(identity[0]);
      if (size <= kBuildIdBytes) {
        build_id = absl::BytesToHexString(
            {reinterpret_cast<const char*>(identity.data()) + 4, size});
      }
    }
  }
  if (!body.ok()) return false;
  const std::string_view path = body.Text(body.left());
  const bool of_kernel =
      (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  if (is_code && !of_kernel && pid > 0) {
    Map(pid, start, bytes, offset, path, std::move(build_id));
  }
  return true;
}

void CodeMappings::Map(std::int32_t pid, std::uint64_t start,
                       std::uint64_t bytes, std::uint64_t offset,
                       std::string_view path, std::string build_id) {
  if (bytes == 0 || start + bytes < start) return;
  const std::uint64_t end = start + bytes;
  MappedFile file{std::string(path), std::move(build_id)};
  std::int32_t owner = 0;
  if (logformat::IsJitMapping(path)) {
    file = {logformat::kJitCode, ""};
    owner = pid;
    offset = start;  // absolute
  } else if (file.build_id.empty()) {
    const auto known = description_.build_ids.find(file.path);
    if (known != description_.build_ids.end()) file.build_id = known->second;
  }
  if (file.build_id.empty()) file.build_id = logformat::kNoText;
  Space& space = Own(pid);
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

MappedPlace CodeMappings::Find(std::int32_t pid, std::uint64_t address) const {
  const auto space = spaces_.find(pid);
  if (space == spaces_.end() || space->second == nullptr) {
    return {unknown_, address};
  }
  // "[vdso]" counts from its begin, as its mapping has no offset.
  const auto place = space->second->Find(address);
  return place ? MappedPlace{place->file, place->address}
               : MappedPlace{unknown_, address};
}

}  // namespace countrace::importer::perf
