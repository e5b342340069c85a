// One record as one line of text, for `countrace script`.
//
//   [12.000001003] cpu-0 dispatch: { prev_tid = 0, next_tid = 42, ... }
//   [12.000001503] 42/43 server:handle__enter: { arg0 = 7, arg1 = "GET" }
//
// Event names, field names and values are those babeltrace2 shows, dump before
// payload; but the numbers of a system call's arguments have names, where there
// are some (call_flags.h). The beginning of the line is ours: CLOCK_MONOTONIC
// seconds, then the CPU or pid/tid; a trace without times
// (TraceInfo::has_times) has no seconds. Doubles have all their digits. Names
// in a trace are untrusted: control characters never reach the terminal.
#ifndef COUNTRACE_LOGFORMAT_READ_SCRIPT_RENDER_H_
#define COUNTRACE_LOGFORMAT_READ_SCRIPT_RENDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/event_schema.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

struct NumberNames;

class ScriptRenderer {
 public:
  explicit ScriptRenderer(const TraceInfo& info);

  // Appends the line of `record` and '\n' to `out`.
  void AppendRecord(const EventRecord& record, std::string& out) const;
  // Only the part behind "name: ", as babeltrace2 prints it: "{ a = 1 }".
  void AppendFields(const EventRecord& record, std::string& out) const;
  void AppendLoss(const DiscardedEvents& loss, std::string& out) const;
  void AppendLoss(const DiscardedPackets& loss, std::string& out) const;

  // Name of the record's event class; empty if it has none.
  std::string_view EventName(const EventRecord& record) const;

 private:
  std::optional<std::uint64_t> Shown(std::uint64_t time_ns) const {
    return has_times_ ? std::optional(time_ns) : std::nullopt;
  }
  const EventClass* Find(const EventRecord& record) const;

  const bool has_times_;
  std::vector<EventClass> classes_;
  std::vector<std::vector<const NumberNames*>> names_;  // by class and field
  std::vector<std::uint32_t> index_[kStreamClasses];    // and event id; +1
};

// `text` with control characters, direction overrides and invalid UTF-8 written
// as escapes; with `quoted` also '"' and '\\', as inside a string literal.
void AppendEscaped(std::string_view text, bool quoted, std::string& out);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_SCRIPT_RENDER_H_
