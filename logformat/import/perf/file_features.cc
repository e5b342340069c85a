#include "logformat/import/perf/file_features.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

namespace {

std::string TextOf(ByteReader& section) {
  const std::uint32_t size = section.U32();
  return std::string(section.Text(size));
}

// Names of events; attributes in the order of the header.
void ReadEventDesc(ByteReader& section, FileDescription& out) {
  const std::uint32_t events = section.U32();
  const std::uint32_t attr_bytes = section.U32();
  for (std::uint32_t i = 0; i < events && section.ok(); ++i) {
    section.Skip(attr_bytes);
    const std::uint32_t ids = section.U32();
    const std::string name = TextOf(section);
    std::uint64_t id = 0;
    for (std::uint32_t k = 0; k < ids && section.ok(); ++k) {
      id = section.U64();
      const auto found = out.by_id.find(id);
      if (found != out.by_id.end()) {
        out.attributes[found->second].name = name;
      }
    }
    if (ids == 0 && i < out.attributes.size()) {
      out.attributes[i].name = name;
    }
  }
}

// Records one after the other, as in the data.
void ReadBuildIds(ByteReader& section, FileDescription& out) {
  while (section.left() >= kRecordHeaderBytes) {
    ByteReader head = section;
    head.Skip(4);
    head.Skip(2);
    const std::uint16_t size = head.U16();
    if (size < kRecordHeaderBytes) return;
    section.Skip(kRecordHeaderBytes);
    ByteReader body(section.Bytes(size - kRecordHeaderBytes),
                    section.swapped());
    ReadBuildId(body, out);
  }
}

}  // namespace

void ReadBuildId(ByteReader body, FileDescription& out) {
  constexpr std::size_t kRoom = 24, kMost = 20;
  body.Skip(4);  // pid
  const std::span<const std::byte> id = body.Bytes(kRoom);
  const std::string path(body.Text(body.left()));
  if (!body.ok()) return;
  // Behind the id its size; 0 in files of perf before Linux 5.12.
  const auto stored = static_cast<std::size_t>(id[kMost]);
  const std::size_t bytes = stored == 0 || stored > kMost ? kMost : stored;
  out.build_ids[path] =
      absl::BytesToHexString({reinterpret_cast<const char*>(id.data()), bytes});
}

absl::Status ReadFeature(std::uint32_t bit, ByteReader section,
                         FileDescription& out) {
  switch (bit) {
    case kTracingData:
      out.tracing_data = section.Bytes(section.left());
      break;
    case kBuildId:
      ReadBuildIds(section, out);
      break;
    case kHostname:
      out.hostname = TextOf(section);
      break;
    case kOsRelease:
      out.os_release = TextOf(section);
      break;
    case kPerfVersion:
      out.version = TextOf(section);
      break;
    case kArch:
      out.arch = TextOf(section);
      break;
    case kNrCpus:
      out.cpus = section.U32();
      break;
    case kCmdline: {
      const std::uint32_t words = section.U32();
      for (std::uint32_t i = 0; i < words && section.ok(); ++i) {
        out.command += (i == 0 ? "" : " ") + TextOf(section);
      }
      break;
    }
    case kEventDesc:
      ReadEventDesc(section, out);
      break;
    case kSampleTime:
      out.first_sample_ns = section.U64();
      out.last_sample_ns = section.U64();
      break;
    case kStatTotals:
      return absl::InvalidArgumentError(
          "It is of perf stat record, and holds totals only: perf stat report "
          "prints them; perf record writes what can be reconstructed");
    case kDirFormat:
      return absl::InvalidArgumentError(
          "It is one of several files of a directory (perf record "
          "--threads), which cannot be read: record without --threads");
    case kCompression: {
      section.Skip(4);  // version
      const std::uint32_t type = section.U32();
      if (type == 0) break;  // no compression
      if (type != 1) {
        return absl::UnimplementedError(absl::StrFormat(
            "Its records are compressed in way %d, and only 1 (zstd) is "
            "known",
            type));
      }
      out.compressed = true;
      break;
    }
    case kClockData: {
      section.Skip(8);  // version, clock id
      const std::uint64_t wall = section.U64(), clock = section.U64();
      if (section.ok()) out.wall_and_clock_ns = {wall, clock};
      break;
    }
    default:
      return absl::OkStatus();
  }
  if (!section.ok()) {
    return absl::DataLossError(
        absl::StrFormat("feature %d ends too early", bit));
  }
  return absl::OkStatus();
}

}  // namespace countrace::importer::perf
