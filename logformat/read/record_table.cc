#include "logformat/read/record_table.h"

#include <algorithm>
#include <cstring>

namespace countrace::logformat {
namespace {

constexpr std::size_t kEventIds = 65536;

constexpr std::size_t Pad(std::size_t bytes) {
  return (bytes + kRecordAlignBytes - 1) / kRecordAlignBytes *
         kRecordAlignBytes;
}

}  // namespace

RecordTable::RecordTable(const std::vector<EventClass>& classes,
                         StreamClass stream_class)
    : fixed_bytes_(kEventIds, kUnknown) {
  for (const EventClass& event : classes) {
    if (event.stream_class != stream_class) continue;
    std::vector<std::size_t> pieces = {sizeof(std::uint64_t)};
    for (const auto* fields : {&event.context, &event.fields}) {
      for (const EventField& field : *fields) {
        if (field.type == FieldType::kString) {
          pieces.push_back(0);
        } else {
          pieces.back() += FieldBytes(field);
        }
      }
    }
    if (pieces.size() == 1) {
      fixed_bytes_[event.id] = static_cast<std::uint16_t>(Pad(pieces[0]));
    } else {
      fixed_bytes_[event.id] = kVariable;
      variable_[event.id] = std::move(pieces);
    }
  }
}

RecordTable::Measured RecordTable::Measure(
    std::uint16_t event_id, const std::byte* record,
    std::size_t available) const noexcept {
  const std::uint16_t fixed = fixed_bytes_[event_id];
  if (fixed != kVariable) {
    if (fixed > available) return {0, 0};
    return {fixed, fixed};
  }
  const auto pieces = variable_.find(event_id);
  std::size_t at = 0;
  std::uint64_t cut_texts = 0;
  for (std::size_t i = 0;; ++i) {
    if (pieces->second[i] > available - at) return {0, 0};
    at += pieces->second[i];
    if (i + 1 == pieces->second.size()) break;
    const std::size_t limit = std::min(available - at, kMaxStringBytes);
    const void* nul = std::memchr(record + at, 0, limit);
    if (nul == nullptr) return {0, 0};
    const std::size_t end =
        static_cast<std::size_t>(static_cast<const std::byte*>(nul) - record);
    if (end - at == kMaxStringBytes - 1 &&
        std::memcmp(record + end - kCutTextEndBytes, kCutTextEnd,
                    kCutTextEndBytes) == 0) {
      ++cut_texts;
    }
    at = end + 1;
  }
  const std::size_t padded = Pad(at);
  if (padded > available) return {0, 0};
  return {padded, at, cut_texts};
}

}  // namespace countrace::logformat
