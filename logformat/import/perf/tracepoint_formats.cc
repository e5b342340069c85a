#include "logformat/import/perf/tracepoint_formats.h"

#include <traceevent/event-parse.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/byte_reader.h"
#include "logformat/import/perf/format_check.h"

namespace countrace::importer::perf {

namespace {

constexpr std::size_t kMaxFormatBytes = std::size_t{1} << 20;
constexpr std::uint32_t kMaxFormats = 1 << 16;
constexpr std::size_t kMaxFields = 256;
constexpr std::string_view kBegin = "\x17\x08\x44tracing";

TracepointField FieldOf(const tep_format_field& field) {
  TracepointField out;
  out.name = field.name == nullptr ? "" : field.name;
  const unsigned long flags = field.flags;
  out.offset = static_cast<std::uint32_t>(std::max(field.offset, 0));
  out.bytes = static_cast<std::uint32_t>(std::max(field.size, 0));
  out.element_bytes = field.elementsize;
  out.is_signed = (flags & TEP_FIELD_IS_SIGNED) != 0;
  out.dynamic = (flags & TEP_FIELD_IS_DYNAMIC) != 0;
  out.relative = (flags & TEP_FIELD_IS_RELATIVE) != 0;
  out.is_pointer =
      (flags & TEP_FIELD_IS_POINTER) != 0 && (flags & TEP_FIELD_IS_ARRAY) == 0;
  if ((flags & TEP_FIELD_IS_STRING) != 0) {
    out.kind = TracepointField::Kind::kText;
  } else if ((flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) != 0 ||
             (out.bytes != 1 && out.bytes != 2 && out.bytes != 4 &&
              out.bytes != 8)) {
    out.kind = TracepointField::Kind::kBytes;
  }
  return out;
}

}  // namespace

std::optional<std::uint32_t> Tracepoint::Find(std::string_view field) const {
  for (std::uint32_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == field) return i;
  }
  return std::nullopt;
}

TracepointFormats::~TracepointFormats() { tep_free(tep_); }

absl::Status TracepointFormats::Read(std::span<const std::byte> section) {
  ByteReader head(section, false);
  const std::string_view begin(reinterpret_cast<const char*>(section.data()),
                               std::min(section.size(), kBegin.size()));
  head.Skip(kBegin.size());
  head.Line();  // version
  const auto order = head.Bytes(1);
  if (begin != kBegin || !head.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Its %d bytes of tracepoint formats do not begin as they should",
        section.size()));
  }
  big_endian_ = std::to_integer<int>(order[0]) != 0;
  const bool swapped =
      big_endian_ == (std::endian::native == std::endian::little);
  ByteReader in(section.subspan(head.at()), swapped);
  const auto long_bytes = in.Bytes(1);
  in.Skip(4);  // page size
  if (!in.ok()) {
    return absl::InvalidArgumentError("Its tracepoint formats are cut");
  }
  tep_set_loglevel(TEP_LOG_NONE);
  tep_ = tep_alloc();
  if (tep_ == nullptr) return absl::ResourceExhaustedError("No memory");
  tep_set_file_bigendian(tep_,
                         big_endian_ ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
  tep_set_local_bigendian(tep_, std::endian::native == std::endian::big
                                    ? TEP_BIG_ENDIAN
                                    : TEP_LITTLE_ENDIAN);
  tep_set_long_size(tep_, std::to_integer<int>(long_bytes[0]));
  absl::Status status = ReadFormats(in);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "At byte %d of %d of its tracepoint formats: %s: the file is damaged",
        head.at() + in.at(), section.size(), status.message()));
  }
  return absl::OkStatus();
}

absl::Status TracepointFormats::ReadFormats(ByteReader& in) {
  for (const std::string_view part : {"header_page", "header_event"}) {
    if (in.Line() != part) {
      return absl::InvalidArgumentError(absl::StrFormat("no part %s", part));
    }
    in.Skip(in.U64());
  }
  const auto parse = [&](const std::string& system, std::uint64_t bytes) {
    if (bytes > kMaxFormatBytes || bytes > in.left()) return false;
    const auto bytes_of = in.Bytes(bytes);
    if (system == "ftrace") return true;  // perf has no events of these
    // The library also parses the print format, which is not needed here.
    std::string format(reinterpret_cast<const char*>(bytes_of.data()),
                       bytes_of.size());
    format.resize(std::min(format.find("print fmt:"), format.size()));
    // An invalid format is not described; its events become points.
    if (!IsKernelFormat(format)) return true;
    format += "print fmt: \"\"\n";
    tep_parse_event(tep_, format.data(), format.size(), system.c_str());
    return true;
  };
  const std::uint32_t own = in.U32();
  for (std::uint32_t i = 0; i < own; ++i) {
    if (i > kMaxFormats || !parse("ftrace", in.U64())) {
      return absl::InvalidArgumentError("a format that is too long");
    }
  }
  const std::uint32_t systems = in.U32();
  for (std::uint32_t i = 0; i < systems; ++i) {
    const std::string system(in.Line());
    const std::uint32_t events = in.U32();
    if (!in.ok() || system.empty() || events > kMaxFormats) {
      return absl::InvalidArgumentError("no system of tracepoints");
    }
    for (std::uint32_t k = 0; k < events; ++k) {
      if (!parse(system, in.U64())) {
        return absl::InvalidArgumentError("a format that is too long");
      }
    }
  }
  // Symbols and texts of printk, for printing, follow.
  if (!in.ok()) return absl::InvalidArgumentError("it is cut");
  return absl::OkStatus();
}

std::optional<Tracepoint> TracepointFormats::Describe(std::uint64_t id) const {
  if (tep_ == nullptr || id > INT32_MAX) return std::nullopt;
  const tep_event* event = tep_find_event(tep_, static_cast<int>(id));
  if (event == nullptr || event->name == nullptr || event->system == nullptr) {
    return std::nullopt;
  }
  Tracepoint out{event->system, event->name, {}};
  for (const tep_format_field* field = event->format.fields;
       field != nullptr && out.fields.size() < kMaxFields;
       field = field->next) {
    out.fields.push_back(FieldOf(*field));
  }
  return out;
}

std::uint64_t TracepointValues::Number(std::size_t at,
                                       std::size_t bytes) const {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t shift = 8 * (big_endian_ ? bytes - 1 - i : i);
    value |= std::to_integer<std::uint64_t>(raw_[at + i]) << shift;
  }
  return value;
}

std::optional<std::int64_t> TracepointValues::Integer(
    const TracepointField& field) const {
  if (field.kind != TracepointField::Kind::kInteger ||
      std::uint64_t{field.offset} + field.bytes > raw_.size()) {
    return std::nullopt;
  }
  std::uint64_t value = Number(field.offset, field.bytes);
  const unsigned bits = 8 * field.bytes;
  if (field.is_signed && bits < 64 && (value >> (bits - 1) & 1) != 0) {
    value |= ~std::uint64_t{0} << bits;
  }
  return static_cast<std::int64_t>(value);
}

std::span<const std::byte> TracepointValues::Bytes(
    const TracepointField& field) const {
  std::uint64_t at = field.offset, bytes = field.bytes;
  if (field.dynamic) {
    if (at + 4 > raw_.size()) return {};
    const std::uint64_t word = Number(field.offset, 4);
    bytes = word >> 16;
    at = (word & 0xffff) + (field.relative ? at + 4 : 0);
  }
  if (at > raw_.size() || bytes > raw_.size() - at) return {};
  return raw_.subspan(static_cast<std::size_t>(at),
                      static_cast<std::size_t>(bytes));
}

std::optional<std::string_view> TracepointValues::Text(
    const TracepointField& field) const {
  if (field.kind != TracepointField::Kind::kText) return std::nullopt;
  const auto bytes = Bytes(field);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  return text.substr(0, text.find('\0'));
}

void TracepointValues::AppendText(const TracepointField& field,
                                  std::string& out) const {
  switch (field.kind) {
    case TracepointField::Kind::kInteger: {
      const auto value = Integer(field);
      if (!value) return;
      if (field.is_signed) {
        absl::StrAppendFormat(&out, "%d", *value);
      } else {
        absl::StrAppendFormat(&out, "%d", static_cast<std::uint64_t>(*value));
      }
      return;
    }
    case TracepointField::Kind::kText:
      out += '"';
      out += Text(field).value_or("");
      out += '"';
      return;
    case TracepointField::Kind::kBytes: {
      const auto bytes = Bytes(field);
      std::size_t element = field.element_bytes;
      if (element != 1 && element != 2 && element != 4 && element != 8) {
        element = 1;
      }
      out += '[';
      for (std::size_t at = 0; at + element <= bytes.size() && at < 1024;
           at += element) {
        if (at != 0) out += ", ";
        const auto offset =
            static_cast<std::size_t>(bytes.data() - raw_.data()) + at;
        absl::StrAppendFormat(&out, "%d", Number(offset, element));
      }
      out += ']';
      return;
    }
  }
}

}  // namespace countrace::importer::perf
