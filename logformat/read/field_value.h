// The fields of a record as values, one after the other.
#ifndef COUNTRACE_LOGFORMAT_READ_FIELD_VALUE_H_
#define COUNTRACE_LOGFORMAT_READ_FIELD_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "logformat/event_schema.h"

namespace countrace::logformat {

struct PointerValue {
  std::uint64_t address;
};
// A string is without its NUL, and can hold any bytes. monostate: the record
// ends before the field.
using FieldValue = std::variant<std::monostate, std::uint64_t, std::int64_t,
                                double, PointerValue, std::string_view>;

// Removes one field, not a kEventSet, from the front of `bytes`.
FieldValue TakeField(const EventField& field,
                     std::span<const std::byte>& bytes);
// The fields of the event set `mmcr`; those of the first set if there is no
// such set, which is damage.
const std::vector<EventField>& FieldsOfSet(const EventField& event_set,
                                           std::uint32_t mmcr);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_FIELD_VALUE_H_
