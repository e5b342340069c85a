// One record as one JSON object, for `countrace script --format jsonl`.
//
//   {"time_ns":12000001003,"cpu":0,"event":"dispatch","fields":{...}}
//   {"time_ns":12000001503,"pid":42,"tid":43,"event":"server:handle__enter",
//    "fields":{"arg0":7,"arg1":"GET"}}
//
// Names and values are those of the text (script_render.h), the fields of a
// dump before the payload. A pointer is a string, "0x7F00"; a double that is no
// number is null. The text is ASCII: anything else in a name or string is a
// \u escape, bytes that are not UTF-8 are \ufffd.
#ifndef COUNTRACE_LOGFORMAT_READ_SCRIPT_JSON_H_
#define COUNTRACE_LOGFORMAT_READ_SCRIPT_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/event_schema.h"
#include "logformat/read/call_flags.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

class ScriptJsonRenderer {
 public:
  // What values become.
  struct Values {
    bool texts = true;   // false: those that hooks stored are null
    bool names = false;  // true: numbers that have names are these, as texts
  };
  ScriptJsonRenderer(const TraceInfo& info, Values values);
  explicit ScriptJsonRenderer(const TraceInfo& info)
      : ScriptJsonRenderer(info, Values{}) {}

  // Appends the object of `record` and '\n' to `out`.
  void AppendRecord(const EventRecord& record, std::string& out) const;
  // Appends the last `values` of its fields, as the object {"arg0":7}.
  void AppendPayload(const EventRecord& record, std::size_t values,
                     std::string& out) const;

 private:
  const bool has_times_;
  const Values values_;
  std::vector<EventClass> classes_;
  // By class and field; none: no number of the class has a name.
  std::vector<std::vector<const NumberNames*>> names_;
  std::vector<std::uint32_t> index_[kStreamClasses];  // and event id; +1
};

// `text` as a JSON string, quotes included.
void AppendJsonString(std::string_view text, std::string& out);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_SCRIPT_JSON_H_
