// What is done with the events of one event class of a foreign trace: found out
// once, when its first event comes.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_FOREIGN_EVENT_PLAN_H_
#define COUNTRACE_RMAP_FOREIGN_EVENT_PLAN_H_

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmap/foreign/field_values.h"
#include "rmap/foreign/mapping_file.h"

namespace countrace::rmap::foreign {

enum class EventKind : std::uint8_t {
  kIgnored,
  // Of user code.
  kPoint,          // a point hook
  kEnter,          // begin of a segment of its thread
  kExit,           // its end
  kRequestBegin,   // begin of one that may end in another thread
  kRequestEnd,     // its end
  kNamedEnter,     // the segment's name is a field: countrace:enter
  kNamedExit,      // countrace:exit
  kNamedPoint,     // countrace:hook
  kFunctionEnter,  // the segment's name is an address: lttng_ust_cyg_profile
  kFunctionExit,
  kObjectLoaded,  // where a program's code lies
  // Of the kernel.
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

enum class FieldScope : std::uint8_t { kCommon, kSpecific, kPayload };

// A field that each event of a class has.
struct FieldPlace {
  FieldScope scope;
  std::uint32_t member;
};
// Where `name` is, contexts first; nullopt: nowhere.
std::optional<FieldPlace> FindField(const bt_event_class& event,
                                    std::string_view name);
const bt_field* FieldAt(const bt_event& event, const FieldPlace& place);
std::optional<std::int64_t> IntegerAt(const bt_event& event,
                                      const std::optional<FieldPlace>& place);

struct CounterPlace {
  FieldPlace field;
  std::uint32_t slot;  // in the dump
};

struct EventPlan {
  EventKind kind = EventKind::kIgnored;
  std::string name;           // of the event class
  std::uint32_t hook_id = 0;  // of kPoint, kEnter, kExit
  PayloadPlan payload;
  const SegmentMapping* segment = nullptr;
  std::size_t segment_index = 0;
  std::vector<FieldPlace> key;
  // Who: of contexts, or of fields.
  std::optional<FieldPlace> vpid, vtid, pid, tid, procname;
  std::vector<CounterPlace> counters;
  // Fields by the role they have in events of this kind.
  std::vector<std::optional<FieldPlace>> fields;
  std::optional<std::int64_t> Field(const bt_event& event,
                                    std::size_t role) const {
    return IntegerAt(event, fields[role]);
  }
  // Kind of interrupt: provider of its hook.
  const char* provider = "";
  bool named_by_number = false;
};

}  // namespace countrace::rmap::foreign

#endif  // COUNTRACE_RMAP_FOREIGN_EVENT_PLAN_H_
