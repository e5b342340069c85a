// A value of hooks by its name: the way in which all readers get at what a
// program or the kernel stored with a hook (FORMAT.md 4.2, 4.4).
//
// In: records. Out: the value that has the name in the record's hook, whatever
// its place and type. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_READ_NAMED_VALUE_H_
#define COUNTRACE_LOGFORMAT_READ_NAMED_VALUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "logformat/event_schema.h"
#include "logformat/read/call_flags.h"
#include "logformat/read/field_value.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// What a text is that the kernel could not read at that record: the call's
// other record may have it, under the same name.
inline constexpr std::string_view kUnreadable = "(unreadable)";

class NamedValue {
 public:
  // The first of `names` that a hook's records have. An exit's values are `ret`
  // and what its hook adds.
  NamedValue(const TraceInfo& info, const std::vector<std::string>& names);

  // monostate: such records have no value of the name, or this one is damaged.
  // A text is valid as long as the record.
  FieldValue Of(const EventRecord& record) const;
  // The name of Of() (call_flags.h); empty: it has none.
  std::string NameOf(const EventRecord& record) const;
  // True if the hook's enters or points have it, or (`exits`) its exits.
  bool IsOf(std::uint32_t hook_id, bool exits = false) const;
  bool any() const { return !places_.empty(); }

 private:
  struct Place {
    std::vector<EventField> before;
    EventField field;
    const NumberNames* names;
  };
  static std::uint32_t Key(StreamClass stream_class, std::uint16_t event_id) {
    return static_cast<std::uint32_t>(stream_class) << 16 | event_id;
  }

  std::unordered_map<std::uint32_t, Place> places_;
};

// What the numbers of `field` in records of `event` are called: those of a
// system call that was recorded with its arguments, and those with names in the
// trace. Valid as long as `field`. Null: they have no names.
const NumberNames* NamesOf(const TraceInfo& info, const EventClass& event,
                           const EventField& field);
// The name of an integer among `names`, which may be null; empty: it has none.
std::string NameOf(const NumberNames* names, const FieldValue& value);

// As `script` prints a number or text, without quotation marks; absent:
// monostate.
std::optional<std::string> TextOf(const FieldValue& value);
// An integer's value, a pointer's too.
std::optional<std::int64_t> IntegerOf(const FieldValue& value);

// By name the values of all enters and points, or of all records (`ret` is an
// exit's).
std::map<std::string, NamedValues> ValueNames(const TraceInfo& info,
                                              bool exits);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_NAMED_VALUE_H_
