#include "logformat/import/perf/mapping_record.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "absl/strings/escaping.h"
#include "logformat/import/perf/byte_reader.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {
namespace {

// The kernel's flag of MMAP2 records that have a build id; since Linux 5.12.
constexpr std::uint16_t kHasBuildId = 1 << 14;
constexpr std::size_t kBuildIdBytes = 20;

// The kernel (of 2025, too) also sets the flag where another one's events, at
// the same time, ask for build ids: what follows is then the device. Programs
// that put them in later do not change the attributes.
bool HasBuildId(const RawRecord& record, const FileDescription& file,
                std::span<const std::byte> identity) {
  if ((record.misc & kHasBuildId) == 0) return false;
  return std::any_of(
             file.attributes.begin(), file.attributes.end(),
             [](const EventAttribute& one) { return one.Has(kBuildIds); }) ||
         std::to_integer<std::size_t>(identity[0]) == kBuildIdBytes;
}

// Device, inode and its generation, or a build id.
void ReadIdentity(ByteReader identity, bool has_build_id, MappingRecord& out) {
  if (!has_build_id) {
    identity.Skip(4 + 4);  // major and minor number of the device
    out.inode = identity.U64();
    return;
  }
  const auto size =
      static_cast<std::size_t>(std::to_integer<unsigned>(identity.Bytes(1)[0]));
  identity.Skip(3);
  if (size <= kBuildIdBytes) {
    out.build_id = absl::BytesToHexString(
        {reinterpret_cast<const char*>(identity.Bytes(size).data()), size});
  }
}

}  // namespace

bool ReadMapping(const RawRecord& record, const FileDescription& file,
                 MappingRecord& out) {
  ByteReader body(record.body, file.swapped);
  out = {};
  out.pid = body.I32();
  body.Skip(4);  // tid
  out.start = body.U64();
  out.bytes = body.U64();
  out.offset = body.U64();
  out.is_code = (record.misc & PERF_RECORD_MISC_MMAP_DATA) == 0;
  if (record.type == PERF_RECORD_MMAP2) {
    constexpr std::size_t kIdentityBytes = 24;
    const auto identity = body.Bytes(kIdentityBytes);
    out.is_code = (body.U32() & PROT_EXEC) != 0;
    body.Skip(4);  // flags
    if (!body.ok()) return false;
    ReadIdentity({identity, file.swapped}, HasBuildId(record, file, identity),
                 out);
  }
  if (!body.ok()) return false;
  out.path = body.Text(body.left());
  out.of_kernel =
      (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  return true;
}

}  // namespace countrace::importer::perf
