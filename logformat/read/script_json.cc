#include "logformat/read/script_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "absl/strings/str_format.h"
#include "base/text/utf8.h"
#include "logformat/read/field_value.h"
#include "logformat/read/named_value.h"

namespace countrace::logformat {
namespace {

template <typename T>
void AppendNumber(T value, std::string& out) {
  char digits[64];
  // A double: the shortest text that reads back as the same number.
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, end.ptr);
}

struct ValueAppender {
  std::string& out;
  bool texts;
  void operator()(std::monostate) const { out += "null"; }
  void operator()(std::uint64_t value) const { AppendNumber(value, out); }
  void operator()(std::int64_t value) const { AppendNumber(value, out); }
  void operator()(double value) const {
    if (std::isfinite(value)) {
      AppendNumber(value, out);
    } else {
      out += "null";
    }
  }
  void operator()(PointerValue value) const {
    absl::StrAppendFormat(&out, "\"0x%X\"", value.address);
  }
  void operator()(std::string_view text) const {
    if (texts) {
      AppendJsonString(text, out);
    } else {
      out += "null";
    }
  }
};

// `first`: nothing precedes them in their object.
void AppendFields(std::span<const EventField> fields, std::uint32_t mmcr,
                  std::span<const std::byte>& bytes, bool texts,
                  std::span<const NumberNames* const> names, bool& first,
                  std::string& out) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const EventField& field = fields[i];
    if (!first) out += ',';
    first = false;
    AppendJsonString(field.name, out);
    out += ':';
    if (field.type == FieldType::kEventSet) {
      bool first_of_set = true;
      out += '{';
      AppendFields(FieldsOfSet(field, mmcr), mmcr, bytes, texts, {},
                   first_of_set, out);
      out += '}';
    } else {
      const FieldValue value = TakeField(field, bytes);
      const std::string name =
          NameOf(i < names.size() ? names[i] : nullptr, value);
      if (name.empty()) {
        std::visit(ValueAppender{out, texts}, value);
      } else {
        AppendJsonString(name, out);
      }
    }
  }
}

void PassFields(std::span<const EventField> fields, std::uint32_t mmcr,
                std::span<const std::byte>& bytes) {
  for (const EventField& field : fields) {
    if (field.type == FieldType::kEventSet) {
      PassFields(FieldsOfSet(field, mmcr), mmcr, bytes);
    } else {
      TakeField(field, bytes);
    }
  }
}

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const char c = text[0];
    if (c >= ' ' && c <= '~') {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
      text.remove_prefix(1);
      continue;
    }
    const base::CodePoint point = base::DecodeFirst(text);
    const std::uint32_t value = point.bytes == 0 ? 0xfffd : point.value;
    if (value > 0xffff) {  // a surrogate pair
      absl::StrAppendFormat(&out, "\\u%04x\\u%04x",
                            0xd800 + ((value - 0x10000) >> 10),
                            0xdc00 + ((value - 0x10000) & 0x3ff));
    } else {
      absl::StrAppendFormat(&out, "\\u%04x", value);
    }
    text.remove_prefix(std::max<std::size_t>(point.bytes, 1));
  }
  out += '"';
}

ScriptJsonRenderer::ScriptJsonRenderer(const TraceInfo& info, Values values)
    : has_times_(info.has_times),
      values_(values),
      classes_(EventClasses(info)) {
  for (auto& index : index_) index.assign(65536, 0);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    index_[static_cast<std::size_t>(classes_[i].stream_class)][classes_[i].id] =
        static_cast<std::uint32_t>(i + 1);
    auto& names = names_.emplace_back();
    if (!values_.names) continue;
    for (const EventField& field : classes_[i].fields) {
      names.push_back(NamesOf(info, classes_[i], field));
    }
  }
}

void ScriptJsonRenderer::AppendRecord(const EventRecord& record,
                                      std::string& out) const {
  out += "{\"time_ns\":";
  if (has_times_) {
    AppendNumber(record.time_ns, out);
  } else {
    out += "null";
  }
  if (record.stream_class == StreamClass::kCpu) {
    out += ",\"cpu\":";
    AppendNumber(record.cpu, out);
  } else if (record.stream_class == StreamClass::kThread) {
    out += ",\"pid\":";
    AppendNumber(record.pid, out);
    out += ",\"tid\":";
    AppendNumber(record.tid, out);
  }
  const std::uint32_t index =
      index_[static_cast<std::size_t>(record.stream_class)][record.event_id];
  out += ",\"event\":";
  AppendJsonString(index == 0 ? "" : classes_[index - 1].name, out);
  out += ",\"fields\":{";
  if (index != 0) {
    const EventClass& event = classes_[index - 1];
    std::span<const std::byte> bytes =
        record.bytes.subspan(sizeof(std::uint64_t));
    bool first = true;
    AppendFields(event.context, record.mmcr, bytes, values_.texts, {}, first,
                 out);
    AppendFields(event.fields, record.mmcr, bytes, values_.texts,
                 names_[index - 1], first, out);
  }
  out += "}}\n";
}

void ScriptJsonRenderer::AppendPayload(const EventRecord& record,
                                       std::size_t values,
                                       std::string& out) const {
  const std::uint32_t index =
      index_[static_cast<std::size_t>(record.stream_class)][record.event_id];
  if (index == 0) return;
  const EventClass& event = classes_[index - 1];
  const std::span<const EventField> fields = event.fields;
  const std::size_t before = fields.size() - std::min(values, fields.size());
  std::span<const std::byte> bytes =
      record.bytes.subspan(sizeof(std::uint64_t));
  PassFields(event.context, record.mmcr, bytes);
  PassFields(fields.first(before), record.mmcr, bytes);
  bool first = true;
  out += '{';
  const std::span<const NumberNames* const> names = names_[index - 1];
  AppendFields(fields.subspan(before), record.mmcr, bytes, values_.texts,
               names.subspan(std::min(before, names.size())), first, out);
  out += '}';
}

}  // namespace countrace::logformat
