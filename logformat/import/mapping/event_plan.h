// How the events of one event class of an imported trace are converted: decided
// once, at its first event.
//
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_MAPPING_EVENT_PLAN_H_
#define COUNTRACE_LOGFORMAT_IMPORT_MAPPING_EVENT_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logformat/import/mapping/event_fields.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/packet_layout.h"

namespace countrace::importer {

enum class EventKind : std::uint8_t {
  kIgnored,
  // User code.
  kPoint,          // a point hook
  kEnter,          // begin of a segment of its thread
  kExit,           // its end
  kRequestBegin,   // begin of a request, which may end in another thread
  kRequestEnd,     // its end
  kNamedEnter,     // the segment's name is a field: countrace:enter
  kNamedExit,      // countrace:exit
  kNamedPoint,     // countrace:hook
  kFunctionEnter,  // the segment's name is an address: lttng_ust_cyg_profile
  kFunctionExit,
  kObjectLoaded,  // the address range of a program's code
  // The kernel.
  kSwitch,
  kWaking,  // sched_waking, sched_wakeup, sched_wakeup_new
  kFork,
  kExec,
  kProcessExit,
  kProcessState,  // lttng_statedump_process_state
  kComm,          // task_rename
  kSyscallEnter,
  kSyscallExit,
  kInterruptEnter,
  kInterruptExit,
  kPageFault,
  kKernelPoint,
};

struct CounterPlace {
  FieldPlace field;
  std::uint32_t slot;  // in the dump
};

struct EventPlan {
  EventKind kind = EventKind::kIgnored;
  std::string name;           // of the event class
  std::uint32_t hook_id = 0;  // of kPoint, kEnter, kExit
  // Payload of a point or an enter, and the field of each value.
  std::vector<logformat::PayloadType> payload_types;
  std::vector<std::string> payload_names;
  const SegmentMapping* segment = nullptr;
  std::size_t segment_index = 0;
  std::vector<FieldPlace> key;
  // The thread and process: in contexts, or in fields.
  std::optional<FieldPlace> vpid, vtid, pid, tid, procname;
  std::vector<CounterPlace> counters;
  // Fields by their role in events of this kind.
  std::vector<std::optional<FieldPlace>> fields;
  std::optional<std::int64_t> Field(const EventFields& event,
                                    std::size_t role) const {
    return IntegerAt(event, fields[role]);
  }
  std::optional<std::string_view> Text(const EventFields& event,
                                       std::size_t role) const {
    return TextAt(event, fields[role]);
  }
  // A kernel event's hook. Without a name, it is made from the event's fields.
  const char* provider = "";
  std::string hook_name;
  bool repeats_waking = false;  // sched_wakeup
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_MAPPING_EVENT_PLAN_H_
