// One event of an imported trace, for the code that converts it to records:
// fields by place, whichever library decoded them (libbabeltrace2,
// libtraceevent).
//
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_MAPPING_EVENT_FIELDS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_MAPPING_EVENT_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace countrace::importer {

enum class FieldScope : std::uint8_t { kCommon, kSpecific, kPayload };

// A field that each event of a class has.
struct FieldPlace {
  FieldScope scope;
  std::uint32_t member;
};

class EventFields {
 public:
  virtual ~EventFields() = default;
  // nullopt: no integer at this place.
  virtual std::optional<std::int64_t> Integer(FieldPlace place) const = 0;
  // nullopt: no text at this place. Valid as long as the event.
  virtual std::optional<std::string_view> Text(FieldPlace place) const = 0;
  // Bytes of an array, at most `limit`; nullopt: no array at this place.
  virtual std::optional<std::string> Bytes(FieldPlace place,
                                           std::size_t limit) const = 0;
  // Any field as text: equal fields have equal texts.
  virtual void AppendText(FieldPlace place, std::string& out) const = 0;
  // Appends the payload in the form of FORMAT.md 4.2, without padding, with the
  // types in the plan of its class.
  virtual void AppendPayload(std::string& out) const = 0;
};

inline std::optional<std::int64_t> IntegerAt(
    const EventFields& event, const std::optional<FieldPlace>& place) {
  return place ? event.Integer(*place) : std::nullopt;
}
inline std::optional<std::string_view> TextAt(
    const EventFields& event, const std::optional<FieldPlace>& place) {
  return place ? event.Text(*place) : std::nullopt;
}

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_MAPPING_EVENT_FIELDS_H_
