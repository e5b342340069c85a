#include "logformat/import/perf/sample_event.h"

#include <algorithm>
#include <cstring>

#include "logformat/import/payload_text.h"

namespace countrace::importer::perf {

const TracepointField* SampleEvent::FieldOf(FieldPlace place) const {
  if (place.scope != FieldScope::kPayload || !plan_.tracepoint ||
      place.member >= plan_.tracepoint->fields.size()) {
    return nullptr;
  }
  return &plan_.tracepoint->fields[place.member];
}

std::optional<std::int64_t> SampleEvent::Integer(FieldPlace place) const {
  if (const TracepointField* field = FieldOf(place)) {
    return values_.Integer(*field);
  }
  if (place.scope != FieldScope::kCommon) return std::nullopt;
  switch (place.member) {
    case kTid:
      return sample_.tid;
    case kPid:
      return sample_.pid;
    case kIp:
      return static_cast<std::int64_t>(sample_.ip);
    case kPeriod:
      return static_cast<std::int64_t>(sample_.period);
    case kAddress:
      return static_cast<std::int64_t>(sample_.address);
    default:
      break;
  }
  const std::size_t count = place.member - std::size_t{kFirstCount};
  if (place.member < kFirstCount || count >= counts_.size()) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(counts_[count]);
}

std::optional<std::string_view> SampleEvent::Text(FieldPlace place) const {
  const TracepointField* field = FieldOf(place);
  return field == nullptr ? std::nullopt : values_.Text(*field);
}

std::optional<std::string> SampleEvent::Bytes(FieldPlace place,
                                              std::size_t limit) const {
  const TracepointField* field = FieldOf(place);
  if (field == nullptr || field->kind != TracepointField::Kind::kBytes) {
    return std::nullopt;
  }
  const auto bytes = values_.Bytes(*field);
  return std::string(reinterpret_cast<const char*>(bytes.data()),
                     std::min(limit, bytes.size()));
}

void SampleEvent::AppendText(FieldPlace place, std::string& out) const {
  if (const TracepointField* field = FieldOf(place)) {
    values_.AppendText(*field, out);
  } else if (const auto value = Integer(place)) {
    out += std::to_string(*value);
  }
}

void SampleEvent::AppendPayload(std::string& out) const {
  for (std::size_t i = 0; i < plan_.payload.size(); ++i) {
    const FieldPlace place = plan_.payload[i];
    if (i + 1 == plan_.payload.size() && !plan_.rest.empty()) {
      std::string text;
      for (const std::uint32_t member : plan_.rest) {
        if (!text.empty()) text += ", ";
        text += plan_.tracepoint->fields[member].name + " = ";
        AppendText({FieldScope::kPayload, member}, text);
      }
      StoreText(text, out);
      continue;
    }
    if (plan_.payload_types[i] == logformat::PayloadType::kString) {
      if (const auto text = Text(place)) {
        StoreText(*text, out);
      } else {
        std::string any;
        AppendText(place, any);
        StoreText(any, out);
      }
      continue;
    }
    const std::int64_t value = Integer(place).value_or(0);
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    out.append(bytes, sizeof(bytes));
  }
}

}  // namespace countrace::importer::perf
