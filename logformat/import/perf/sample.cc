#include "logformat/import/perf/sample.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/byte_reader.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

namespace {

// More events in one group are damage.
constexpr std::uint64_t kMaxGroup = 4096;

bool ReadGroup(const EventAttribute& attribute, ByteReader& in, Sample& out) {
  const std::uint64_t format = attribute.read_format;
  const bool group = (format & PERF_FORMAT_GROUP) != 0;
  std::uint64_t count = 1;
  if (group) {
    count = in.U64();
    if (count > kMaxGroup) return false;
  } else {
    out.values.resize(1);
    out.values[0].value = in.U64();
  }
  if ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0) out.enabled_ns = in.U64();
  if ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0) out.running_ns = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    if (group) {
      out.values.emplace_back();
      out.values.back().value = in.U64();
    }
    if ((format & PERF_FORMAT_ID) != 0) out.values.back().id = in.U64();
    if ((format & PERF_FORMAT_LOST) != 0) in.Skip(8);
  }
  return in.ok();
}

void SkipBranches(const EventAttribute& attribute, ByteReader& in) {
  // Newer kernels than the headers may set them.
  constexpr std::uint64_t kHardwareIndex = 1 << 17, kCounters = 1 << 19;
  constexpr std::uint64_t kBranchBytes = 24;
  const std::uint64_t count = in.U64();
  const bool counters = (attribute.branch_type & kCounters) != 0;
  if ((attribute.branch_type & kHardwareIndex) != 0) in.Skip(8);
  // More than fit in a record are damage.
  in.Skip(std::min(count, std::uint64_t{1} << 16) *
          (kBranchBytes + (counters ? 8 : 0)));
}

void ReadUserStack(const EventAttribute& attribute, ByteReader& in,
                   Sample& out) {
  if ((attribute.sample_type & PERF_SAMPLE_REGS_USER) != 0) {
    out.registers_abi = in.U64();
    if (out.registers_abi != PERF_SAMPLE_REGS_ABI_NONE) {
      const int count = std::popcount(attribute.user_registers);
      for (int i = 0; i < count; ++i) out.registers.push_back(in.U64());
    }
  }
  if ((attribute.sample_type & PERF_SAMPLE_STACK_USER) != 0) {
    const std::uint64_t room = in.U64();
    if (room == 0) return;
    out.stack = in.Bytes(room);
    const std::uint64_t used = in.U64();
    out.stack_is_cut = used >= room;
    if (used < out.stack.size()) {
      out.stack = out.stack.first(static_cast<std::size_t>(used));
    }
  }
}

// Bytes of the fields before the id.
std::size_t BytesBeforeId(std::uint64_t type) {
  const std::uint64_t before =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
  return static_cast<std::size_t>(std::popcount(type & before)) * 8;
}
// Bytes of the fields from the id on, at the end of records.
std::size_t BytesFromId(std::uint64_t type) {
  const std::uint64_t after =
      PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
  return static_cast<std::size_t>(std::popcount(type & after)) * 8;
}

}  // namespace

bool ReadSample(const EventAttribute& attribute,
                std::span<const std::byte> body, bool swapped, Sample& out) {
  const std::uint64_t type = attribute.sample_type;
  ByteReader in(body, swapped);
  out = {};
  if ((type & PERF_SAMPLE_IDENTIFIER) != 0) out.id = in.U64();
  if ((type & PERF_SAMPLE_IP) != 0) out.ip = in.U64();
  if ((type & PERF_SAMPLE_TID) != 0) {
    out.pid = in.I32();
    out.tid = in.I32();
  }
  if ((type & PERF_SAMPLE_TIME) != 0) out.time_ns = in.U64();
  if ((type & PERF_SAMPLE_ADDR) != 0) out.address = in.U64();
  if ((type & PERF_SAMPLE_ID) != 0) out.id = in.U64();
  if ((type & PERF_SAMPLE_STREAM_ID) != 0) in.Skip(8);
  if ((type & PERF_SAMPLE_CPU) != 0) {
    out.cpu = in.I32();
    in.Skip(4);
  }
  if ((type & PERF_SAMPLE_PERIOD) != 0) out.period = in.U64();
  if ((type & PERF_SAMPLE_READ) != 0 && !ReadGroup(attribute, in, out)) {
    return false;
  }
  if ((type & PERF_SAMPLE_CALLCHAIN) != 0) {
    const std::uint64_t depth = in.U64();
    if (depth > in.left() / 8) return false;
    out.chain.reserve(static_cast<std::size_t>(depth));
    for (std::uint64_t i = 0; i < depth; ++i) out.chain.push_back(in.U64());
  }
  if ((type & PERF_SAMPLE_RAW) != 0) out.raw = in.Bytes(in.U32());
  if ((type & PERF_SAMPLE_BRANCH_STACK) != 0) SkipBranches(attribute, in);
  ReadUserStack(attribute, in, out);
  // The newer form has more weights behind the first, which has half a word.
  constexpr std::uint64_t kWeightStruct = 1 << 24, kFirstWeight = 0xffffffff;
  if ((type & PERF_SAMPLE_WEIGHT) != 0) {
    out.weight = in.U64();
  } else if ((type & kWeightStruct) != 0) {
    out.weight = in.U64() & kFirstWeight;
  }
  if ((type & PERF_SAMPLE_DATA_SRC) != 0) out.data_source = in.U64();
  // The remaining fields are not used.
  return in.ok();
}

bool ReadTrailer(const EventAttribute& attribute,
                 std::span<const std::byte> body, bool swapped, Sample& out) {
  out = {};
  if (!attribute.Has(kSampleIdAll)) return true;
  const std::uint64_t type = attribute.sample_type;
  const auto fields = static_cast<std::size_t>(
      std::popcount(type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                            PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                            PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)));
  if (body.size() < fields * 8) return false;
  ByteReader in(body.subspan(body.size() - fields * 8), swapped);
  if ((type & PERF_SAMPLE_TID) != 0) {
    out.pid = in.I32();
    out.tid = in.I32();
  }
  if ((type & PERF_SAMPLE_TIME) != 0) out.time_ns = in.U64();
  if ((type & PERF_SAMPLE_ID) != 0) out.id = in.U64();
  if ((type & PERF_SAMPLE_STREAM_ID) != 0) in.Skip(8);
  if ((type & PERF_SAMPLE_CPU) != 0) {
    out.cpu = in.I32();
    in.Skip(4);
  }
  if ((type & PERF_SAMPLE_IDENTIFIER) != 0) out.id = in.U64();
  return in.ok();
}

RecordAttributes::RecordAttributes(const FileDescription& file) : file_(file) {
  const std::vector<EventAttribute>& all = file.attributes;
  const auto each = [&all](const auto& holds) {
    return std::all_of(all.begin(), all.end(), holds);
  };
  const std::uint64_t type = all.front().sample_type;
  if (each([](const EventAttribute& one) {
        return (one.sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
      })) {
    sample_at_ = 0;
    other_at_ = 8;
  } else if (each([&](const EventAttribute& one) {
               return one.sample_type == type &&
                      one.read_format == all.front().read_format;
             })) {
    if (all.size() == 1) return;
    if ((type & PERF_SAMPLE_ID) == 0) {
      status_ = absl::InvalidArgumentError(absl::StrFormat(
          "Its samples do not name their event, of %d events: record with perf "
          "of Linux 3.12 or later",
          all.size()));
      return;
    }
    sample_at_ = static_cast<std::int64_t>(BytesBeforeId(type));
    other_at_ = static_cast<std::int64_t>(BytesFromId(type));
  } else {
    status_ = absl::InvalidArgumentError(absl::StrFormat(
        "Its %d events have samples of different shapes and no common place "
        "of an id: it is damaged, or of a perf before Linux 3.12",
        all.size()));
  }
}

const EventAttribute* RecordAttributes::Of(std::span<const std::byte> body,
                                           std::size_t at) const {
  if (at > body.size() || body.size() - at < 8) return nullptr;
  ByteReader in(body.subspan(at), file_.swapped);
  const std::uint64_t id = in.U64();
  // Records that perf itself makes have no id.
  if (id == 0) return &file_.attributes.front();
  return file_.Find(id);
}

const EventAttribute* RecordAttributes::OfSample(
    std::span<const std::byte> body) const {
  if (sample_at_ < 0) return &file_.attributes.front();
  return Of(body, static_cast<std::size_t>(sample_at_));
}

const EventAttribute* RecordAttributes::OfOther(
    std::span<const std::byte> body) const {
  if (other_at_ < 0) return &file_.attributes.front();
  if (!file_.attributes.front().Has(kSampleIdAll)) {
    return &file_.attributes.front();
  }
  const auto from_end = static_cast<std::size_t>(other_at_);
  if (body.size() < from_end) return nullptr;
  return Of(body, body.size() - from_end);
}

}  // namespace countrace::importer::perf
