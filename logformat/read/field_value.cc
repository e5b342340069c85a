#include "logformat/read/field_value.h"

#include <cstring>

namespace countrace::logformat {
namespace {

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

FieldValue TakeField(const EventField& field,
                     std::span<const std::byte>& bytes) {
  std::size_t size = FieldBytes(field);
  const std::byte* const at = bytes.data();
  if (field.type == FieldType::kString) {
    const void* const nul = std::memchr(at, 0, bytes.size());
    size = nul == nullptr ? bytes.size()
                          : static_cast<std::size_t>(
                                static_cast<const std::byte*>(nul) - at) +
                                1;
  }
  if (size > bytes.size()) return {};
  bytes = bytes.subspan(size);
  switch (field.type) {
    case FieldType::kUint16:
      return std::uint64_t{Load<std::uint16_t>(at)};
    case FieldType::kUint24:
      return Load<std::uint16_t>(at) | static_cast<std::uint64_t>(at[2]) << 16;
    case FieldType::kUint32:
    case FieldType::kMmcr:
      return std::uint64_t{Load<std::uint32_t>(at)};
    case FieldType::kInt32:
      return std::int64_t{Load<std::int32_t>(at)};
    case FieldType::kUint64:
    case FieldType::kCounter:
      return Load<std::uint64_t>(at);
    case FieldType::kInt64:
      return Load<std::int64_t>(at);
    case FieldType::kPointer:
      return PointerValue{Load<std::uint64_t>(at)};
    case FieldType::kDouble:
      return Load<double>(at);
    case FieldType::kString:
    case FieldType::kComm: {
      const std::string_view text(reinterpret_cast<const char*>(at), size);
      return text.substr(0, text.find('\0'));
    }
    case FieldType::kEventSet:
      break;
  }
  return {};
}

const std::vector<EventField>& FieldsOfSet(const EventField& event_set,
                                           std::uint32_t mmcr) {
  return event_set.options[mmcr < event_set.options.size() ? mmcr : 0];
}

}  // namespace countrace::logformat
