#include "logformat/import/perf/data_file.h"

#include <linux/perf_event.h>

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/file_features.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

namespace {

using Bytes = std::span<const std::byte>;

// Larger numbers are damage.
constexpr std::size_t kMaxAttributes = 1 << 16;
constexpr std::size_t kMaxIds = 1 << 22;
// Limit of the search for records that describe the file.
constexpr std::size_t kMaxPrologue = 1 << 20;

std::uint64_t ReverseBitsOfBytes(std::uint64_t value) {
  std::uint64_t out = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((value >> bit & 1) != 0) {
      out |= std::uint64_t{1} << (bit / 8 * 8 + 7 - bit % 8);
    }
  }
  return out;
}

class Describer {
 public:
  explicit Describer(Bytes bytes) : bytes_(bytes) {}

  absl::StatusOr<FileDescription> Describe() {
    std::uint64_t magic = 0;
    if (!IsPerfData(bytes_)) {
      return absl::InvalidArgumentError(
          "It is no perf.data: it does not begin with PERFILE2");
    }
    std::memcpy(&magic, kMagic, kMagicBytes);
    std::uint64_t found = 0;
    std::memcpy(&found, bytes_.data(), kMagicBytes);
    out_.swapped = found != magic;
    out_.big_endian =
        out_.swapped == (std::endian::native == std::endian::little);
    ByteReader header(bytes_, out_.swapped);
    header.Skip(kMagicBytes);
    const std::uint64_t size = header.U64();
    if (size == kPipeHeaderBytes) {
      out_.pipe = true;
      out_.data_begin = kPipeHeaderBytes;
      out_.data_end = bytes_.size();
    } else if (absl::Status status = ReadFileHeader(header, size);
               !status.ok()) {
      return status;
    }
    if (absl::Status status = ReadPrologue(); !status.ok()) return status;
    if (out_.attributes.empty()) {
      return absl::InvalidArgumentError(
          "It names no events: perf record was ended before it wrote them");
    }
    return std::move(out_);
  }

 private:
  absl::Status Wrong(std::uint64_t offset, const std::string& what) const {
    return absl::InvalidArgumentError(
        absl::StrFormat("At offset %d of %d bytes: %s: the file is damaged",
                        offset, bytes_.size(), what));
  }
  bool Within(std::uint64_t offset, std::uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  ByteReader Section(std::uint64_t offset, std::uint64_t size) const {
    return {bytes_.subspan(static_cast<std::size_t>(offset),
                           static_cast<std::size_t>(size)),
            out_.swapped};
  }

  absl::Status ReadFileHeader(ByteReader& header, std::uint64_t size) {
    if (size < kFileHeaderBytes || bytes_.size() < kFileHeaderBytes) {
      return Wrong(
          8, absl::StrFormat("a header of %d bytes instead of %d in a file of "
                             "%d bytes",
                             size, kFileHeaderBytes, bytes_.size()));
    }
    const std::uint64_t entry_bytes = header.U64();
    const std::uint64_t attrs_at = header.U64(), attrs_bytes = header.U64();
    out_.data_begin = header.U64();
    const std::uint64_t data_bytes = header.U64();
    header.Skip(16);  // event types of 2009
    std::uint64_t features[kFeatureBits / 64];
    for (std::uint64_t& word : features) word = header.U64();
    if (entry_bytes < kMinAttrBytes + 16 || entry_bytes > 4096 ||
        attrs_bytes % entry_bytes != 0 || !Within(attrs_at, attrs_bytes) ||
        attrs_bytes / entry_bytes > kMaxAttributes) {
      return Wrong(16, absl::StrFormat("%d bytes of events, %d bytes each, at "
                                       "offset %d",
                                       attrs_bytes, entry_bytes, attrs_at));
    }
    if (data_bytes == 0) {
      // perf writes this field last: perf was killed.
      out_.unfinished = true;
      if (!Within(out_.data_begin, 0)) {
        return Wrong(40,
                     absl::StrFormat("records at offset %d", out_.data_begin));
      }
      out_.data_end = bytes_.size();
    } else if (!Within(out_.data_begin, data_bytes)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "It is cut: its %d bytes of records begin at offset %d, and it has "
          "%d bytes instead of at least %d. What is left names no "
          "tracepoints; copy the file again",
          data_bytes, out_.data_begin, bytes_.size(),
          out_.data_begin + data_bytes));
    } else {
      out_.data_end = out_.data_begin + data_bytes;
    }
    for (std::uint64_t at = 0; at < attrs_bytes; at += entry_bytes) {
      ByteReader entry = Section(attrs_at + at, entry_bytes);
      EventAttribute attribute;
      if (!ReadAttr(entry.Bytes(entry_bytes - 16), attribute)) {
        return Wrong(attrs_at + at, "no perf_event_attr");
      }
      const std::uint64_t ids_at = entry.U64(), ids_bytes = entry.U64();
      if (!Within(ids_at, ids_bytes) || ids_bytes / 8 > kMaxIds) {
        return Wrong(attrs_at + at + entry_bytes - 16,
                     absl::StrFormat("%d bytes of event ids at offset %d",
                                     ids_bytes, ids_at));
      }
      ByteReader ids = Section(ids_at, ids_bytes);
      while (ids.left() >= 8) attribute.ids.push_back(ids.U64());
      if (absl::Status status = Add(std::move(attribute)); !status.ok()) {
        return status;
      }
    }
    if (out_.unfinished) return absl::OkStatus();
    return ReadFeatures(features);
  }

  // They lie behind the records, and their places before them. A file that is
  // cut there has all its records.
  absl::Status ReadFeatures(
      std::span<const std::uint64_t, kFeatureBits / 64> bits) {
    std::uint64_t entry_at = out_.data_end;
    for (std::uint32_t bit = 0; bit < kFeatureBits; ++bit) {
      if ((bits[bit / 64] >> (bit % 64) & 1) == 0) continue;
      ++out_.features;
      std::uint64_t at = bytes_.size(), size = 1;
      if (Within(entry_at, 16)) {
        ByteReader entry = Section(entry_at, 16);
        at = entry.U64();
        size = entry.U64();
      }
      entry_at += 16;
      if (!Within(at, size)) {
        ++out_.missing_features;
        // perf writes one way, zstd.
        if (bit == kCompression) out_.compressed = true;
        continue;
      }
      if (absl::Status status = Feature(bit, Section(at, size), at);
          !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  bool ReadAttr(Bytes bytes, EventAttribute& out) const {
    ByteReader attr(bytes, out_.swapped);
    out.type = attr.U32();
    const std::uint32_t size = attr.U32();
    out.config = attr.U64();
    out.sample_period = attr.U64();
    out.sample_type = attr.U64();
    out.read_format = attr.U64();
    std::uint64_t flags = 0;
    const Bytes raw = attr.Bytes(sizeof(flags));
    if (!attr.ok() || (size != 0 && size < kMinAttrBytes)) return false;
    for (std::size_t i = 0; i < sizeof(flags); ++i) {
      flags |= std::to_integer<std::uint64_t>(raw[i]) << (8 * i);
    }
    // On big-endian machines bit fields begin at the other end.
    out.flags = out_.big_endian ? ReverseBitsOfBytes(flags) : flags;
    attr.Skip(4 + 4 + 8 + 8);  // wakeup_events, bp_type, config1, config2
    // Shorter ones are of kernels that do not have the fields.
    out.branch_type = attr.U64();
    out.user_registers = attr.U64();
    out.stack_bytes = attr.U32();
    out.clock_id = attr.I32();
    return true;
  }

  absl::Status Add(EventAttribute attribute) {
    if (out_.attributes.size() >= kMaxAttributes ||
        out_.by_id.size() + attribute.ids.size() > kMaxIds) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "It has more than %d events or %d ids of events: it is damaged",
          kMaxAttributes, kMaxIds));
    }
    const auto index = static_cast<std::uint32_t>(out_.attributes.size());
    for (const std::uint64_t id : attribute.ids) out_.by_id[id] = index;
    out_.attributes.push_back(std::move(attribute));
    return absl::OkStatus();
  }

  absl::Status Feature(std::uint32_t bit, ByteReader section,
                       std::uint64_t offset) {
    const absl::Status status = ReadFeature(bit, section, out_);
    if (status.ok() || !absl::IsDataLoss(status)) return status;
    return Wrong(offset, std::string(status.message()));
  }

  // At the end, or where the reader of records will report an error: false.
  bool ReadRecord(std::uint64_t at, std::uint32_t& type, std::uint16_t& size,
                  ByteReader& body) const {
    if (at >= out_.data_end || out_.data_end - at < kRecordHeaderBytes) {
      return false;
    }
    ByteReader record = Section(at, out_.data_end - at);
    type = record.U32();
    record.Skip(2);
    size = record.U16();
    if (size < kRecordHeaderBytes || size > out_.data_end - at) return false;
    body = Section(at + kRecordHeaderBytes, size - kRecordHeaderBytes);
    return true;
  }

  // perf inject writes that of each file before its first sample, behind its
  // mapping.
  void ReadBuildIdsFrom(std::uint64_t at) {
    std::uint32_t type = 0;
    std::uint16_t size = 0;
    ByteReader body({}, false);
    while (ReadRecord(at, type, size, body)) {
      if (type == kHeaderBuildId) ReadBuildId(body, out_);
      const std::uint64_t more = type == kAuxtrace ? body.U64() : 0;
      if (more > out_.data_end - at - size) return;
      at += size + more;
    }
  }

  // Reads the records before the first round, which describe the file.
  absl::Status ReadPrologue() {
    std::uint64_t at = out_.data_begin;
    for (std::size_t i = 0; i < kMaxPrologue; ++i) {
      std::uint32_t type = 0;
      std::uint16_t size = 0;
      ByteReader body({}, false);
      if (!ReadRecord(at, type, size, body)) break;
      std::uint64_t more = 0;  // bytes that follow the record
      switch (type) {
        case kHeaderAttr:
          if (absl::Status status = ReadHeaderAttr(body, at); !status.ok()) {
            return status;
          }
          break;
        case kHeaderFeature: {
          const std::uint64_t bit = body.U64();
          if (bit >= kFeatureBits) break;
          if (absl::Status status =
                  Feature(static_cast<std::uint32_t>(bit),
                          {body.Bytes(body.left()), out_.swapped},
                          at + kRecordHeaderBytes + 8);
              !status.ok()) {
            return status;
          }
          break;
        }
        case kHeaderTracingData:
          more = (std::uint64_t{body.U32()} + 7) / 8 * 8;
          if (!Within(at + size, more)) {
            return Wrong(
                at, absl::StrFormat("%d bytes of tracepoint formats", more));
          }
          out_.tracing_data =
              bytes_.subspan(static_cast<std::size_t>(at + size),
                             static_cast<std::size_t>(more));
          break;
        case kAuxtrace:
          more = body.U64();
          break;
        case kEventUpdate: {
          const std::uint64_t what = body.U64(), id = body.U64();
          constexpr std::uint64_t kName = 2;
          const auto found = out_.by_id.find(id);
          if (what == kName && found != out_.by_id.end()) {
            out_.attributes[found->second].name = body.Text(body.left());
          }
          break;
        }
        case kThreadMap: {
          const std::uint64_t threads = body.U64();
          const auto first = static_cast<std::int64_t>(body.U64());
          if (threads == 1 && body.ok() && first == -1) {
            out_.system_wide = true;
          }
          break;
        }
        case PERF_RECORD_SWITCH_CPU_WIDE:
          out_.system_wide = true;
          break;
        case kFinishedRound:
        case kCompressed:
        case kCompressed2:
          if (out_.pipe) ReadBuildIdsFrom(at + size);
          return absl::OkStatus();
        case kHeaderBuildId:
          ReadBuildId(body, out_);
          break;
        default:
          break;
      }
      if (more > out_.data_end - at - size) break;
      at += size + more;
    }
    return absl::OkStatus();
  }

  absl::Status ReadHeaderAttr(ByteReader& body, std::uint64_t at) {
    ByteReader sizes = body;
    sizes.Skip(4);
    const std::uint32_t attr_bytes = sizes.U32();
    EventAttribute attribute;
    if (attr_bytes < kMinAttrBytes || attr_bytes > body.left() ||
        !ReadAttr(body.Bytes(attr_bytes), attribute)) {
      return Wrong(at, absl::StrFormat("a perf_event_attr of %d bytes in a "
                                       "record with %d",
                                       attr_bytes, body.left()));
    }
    while (body.left() >= 8) attribute.ids.push_back(body.U64());
    return Add(std::move(attribute));
  }

  const Bytes bytes_;
  FileDescription out_;
};

}  // namespace

bool IsPerfData(Bytes bytes) {
  if (bytes.size() < kPipeHeaderBytes) return false;
  char magic[kMagicBytes];
  std::memcpy(magic, bytes.data(), kMagicBytes);
  if (std::memcmp(magic, kMagic, kMagicBytes) == 0) return true;
  std::reverse(magic, magic + kMagicBytes);
  return std::memcmp(magic, kMagic, kMagicBytes) == 0;
}

absl::StatusOr<FileDescription> DescribeFile(Bytes bytes) {
  return Describer(bytes).Describe();
}

}  // namespace countrace::importer::perf
