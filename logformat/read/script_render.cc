#include "logformat/read/script_render.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "absl/strings/str_format.h"
#include "base/text/utf8.h"
#include "logformat/read/field_value.h"
#include "logformat/read/named_value.h"

namespace countrace::logformat {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

template <typename T>
void AppendNumber(T value, std::string& out, int base = 10) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value, base);
  out.append(digits, end.ptr);
}

void AppendPointer(std::uint64_t value, std::string& out) {
  out += "0x";
  const std::size_t begin = out.size();
  AppendNumber(value, out, 16);
  for (std::size_t i = begin; i < out.size(); ++i) {
    if (out[i] >= 'a') out[i] = static_cast<char>(out[i] - 'a' + 'A');
  }
}

void AppendDouble(double value, std::string& out) {
  char digits[64];
  // Shortest text that reads back as the same number.
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, end.ptr);
}

struct ValueAppender {
  std::string& out;
  void operator()(std::monostate) const {}
  void operator()(std::uint64_t value) const { AppendNumber(value, out); }
  void operator()(std::int64_t value) const { AppendNumber(value, out); }
  void operator()(double value) const { AppendDouble(value, out); }
  void operator()(PointerValue value) const {
    AppendPointer(value.address, out);
  }
  void operator()(std::string_view text) const {
    out += '"';
    AppendEscaped(text, true, out);
    out += '"';
  }
};

// `names`: by field; may be shorter.
void AppendStruct(const std::vector<EventField>& fields, std::uint32_t mmcr,
                  std::span<const std::byte>& bytes, std::string& out,
                  std::span<const NumberNames* const> names = {}) {
  out += "{ ";
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const EventField& field = fields[i];
    if (i != 0) out += ", ";
    if (field.type == FieldType::kEventSet) {
      out += field.name;
      out += " = ";
      out += "{ ";  // as babeltrace2 shows a variant
      AppendStruct(FieldsOfSet(field, mmcr), mmcr, bytes, out);
      out += " }";
      continue;
    }
    out += field.name;
    out += " = ";
    const FieldValue value = TakeField(field, bytes);
    const std::string name =
        NameOf(i < names.size() ? names[i] : nullptr, value);
    if (name.empty()) {
      std::visit(ValueAppender{out}, value);
    } else {
      out += name;
    }
  }
  out += " }";
}

// nullopt: the trace has no times.
void AppendPrefix(std::optional<std::uint64_t> time_ns,
                  StreamClass stream_class, std::int32_t cpu, std::int32_t pid,
                  std::int32_t tid, std::string& out) {
  if (time_ns) {
    absl::StrAppendFormat(&out, "[%d.%09d] ", *time_ns / kNsPerSecond,
                          *time_ns % kNsPerSecond);
  }
  if (stream_class == StreamClass::kCpu) {
    absl::StrAppendFormat(&out, "cpu-%d ", cpu);
  } else if (stream_class == StreamClass::kClock) {
    absl::StrAppendFormat(&out, "%s ", kClockStream);
  } else {
    absl::StrAppendFormat(&out, "%d/%d ", pid, tid);
  }
}

}  // namespace

void AppendEscaped(std::string_view text, bool quoted, std::string& out) {
  while (!text.empty()) {
    const base::CodePoint point = base::DecodeFirst(text);
    std::size_t length = point.bytes;
    const char c = text[0];
    constexpr std::string_view kControls = "\a\b\t\n\v\f\r\x1b";
    constexpr std::string_view kLetters = "abtnvfre";
    if (quoted && (c == '"' || c == '\\')) {
      out += '\\';
      out += c;
    } else if (length == 1 && kControls.find(c) != std::string_view::npos) {
      out += '\\';
      out += kLetters[kControls.find(c)];
    } else if (length == 0 || base::IsUnsafeToPrint(point.value)) {
      length = std::max<std::size_t>(length, 1);
      for (const char byte : text.substr(0, length)) {
        absl::StrAppendFormat(&out, "\\x%02x",
                              static_cast<unsigned char>(byte));
      }
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
}

ScriptRenderer::ScriptRenderer(const TraceInfo& info)
    : has_times_(info.has_times), classes_(EventClasses(info)) {
  for (auto& index : index_) index.assign(65536, 0);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    EventClass& event = classes_[i];
    index_[static_cast<std::size_t>(event.stream_class)][event.id] =
        static_cast<std::uint32_t>(i + 1);
    std::string name;
    AppendEscaped(event.name, false, name);
    event.name = std::move(name);
    auto& names = names_.emplace_back();
    for (const EventField& field : event.fields) {
      names.push_back(NamesOf(info, event, field));
    }
  }
}

const EventClass* ScriptRenderer::Find(const EventRecord& record) const {
  const std::uint32_t index =
      index_[static_cast<std::size_t>(record.stream_class)][record.event_id];
  return index == 0 ? nullptr : &classes_[index - 1];
}

std::string_view ScriptRenderer::EventName(const EventRecord& record) const {
  const EventClass* event = Find(record);
  return event == nullptr ? std::string_view() : event->name;
}

void ScriptRenderer::AppendFields(const EventRecord& record,
                                  std::string& out) const {
  const EventClass* event = Find(record);
  if (event == nullptr) return;
  std::span<const std::byte> bytes =
      record.bytes.subspan(sizeof(std::uint64_t));
  if (!event->context.empty())
    AppendStruct(event->context, record.mmcr, bytes, out);
  if (event->fields.empty()) return;
  if (!event->context.empty()) out += ", ";
  AppendStruct(event->fields, record.mmcr, bytes, out,
               names_[static_cast<std::size_t>(event - classes_.data())]);
}

void ScriptRenderer::AppendRecord(const EventRecord& record,
                                  std::string& out) const {
  AppendPrefix(Shown(record.time_ns), record.stream_class, record.cpu,
               record.pid, record.tid, out);
  out += EventName(record);
  out += ": ";
  const std::size_t begin = out.size();
  AppendFields(record, out);
  if (out.size() == begin) out.pop_back();
  out += '\n';
}

void ScriptRenderer::AppendLoss(const DiscardedEvents& loss,
                                std::string& out) const {
  AppendPrefix(Shown(loss.begin_ns), loss.stream_class, loss.cpu, loss.pid,
               loss.tid, out);
  absl::StrAppendFormat(&out, "discarded %d records:", loss.count);
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    if (loss.by_cause[i] == 0) continue;
    absl::StrAppendFormat(&out, " %s = %d", kDiscardCauseNames[i],
                          loss.by_cause[i]);
  }
  out += '\n';
}

void ScriptRenderer::AppendLoss(const DiscardedPackets& loss,
                                std::string& out) const {
  AppendPrefix(Shown(loss.begin_ns), loss.stream_class, loss.cpu, loss.pid,
               loss.tid, out);
  absl::StrAppendFormat(&out, "lost %d packets: ", loss.packets);
  AppendEscaped(loss.reason, false, out);
  out += '\n';
}

}  // namespace countrace::logformat
