// The one list of event classes of a trace (FORMAT.md, section 4): names, ids
// and fields. The metadata text, the record sizes and the text rendering all
// come from it, so they cannot disagree.
#ifndef COUNTRACE_LOGFORMAT_EVENT_SCHEMA_H_
#define COUNTRACE_LOGFORMAT_EVENT_SCHEMA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

enum class FieldType : std::uint8_t {
  kUint16,
  kUint24,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kPointer,  // 64 bits, shown in base 16
  kDouble,
  kString,    // NUL-terminated
  kComm,      // 16 characters, NUL-padded
  kCounter,   // 64 bits; in the metadata its name starts with '_'
  kMmcr,      // 32 bits: number of the event set of the dump that follows
  kEventSet,  // the values of that set, one of `options`
};

struct EventField {
  std::string name;  // as babeltrace2 shows it
  FieldType type;
  std::vector<std::vector<EventField>> options = {};  // of kEventSet, by mmcr
  bool any_name = type == FieldType::kCounter;        // not chosen here
  // HookInfo::number_names; null: none of its own.
  std::shared_ptr<const NumberNames> names = nullptr;
};

inline constexpr std::uint16_t kClockSampleEvent = 1;  // of kClock streams

// Stored size in bytes; 0 for kString.
std::size_t FieldBytes(const EventField& field);

struct EventClass {
  StreamClass stream_class;
  std::uint16_t id;  // as stored in the event header
  std::string name;  // as babeltrace2 shows it: no control characters
  std::vector<EventField> context;  // fields of the dump
  std::vector<EventField> fields;   // payload
};

// Event classes of a trace in the order of the metadata: cpu, clock, then
// thread, by hook id. Classes with a dump exist only if the trace has thread
// events.
std::vector<EventClass> EventClasses(const TraceInfo& info);

// Unique identifiers for counters, from event names: "page-faults" becomes
// page_faults. They differ from the names of all fixed fields.
std::vector<std::string> CounterFieldNames(
    const std::vector<std::string>& event_names);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_EVENT_SCHEMA_H_
