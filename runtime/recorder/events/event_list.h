// The events of this machine, and whether they open here.
//
// Used by `countrace list events`. Opens and closes one counter for each event
// (a tracepoint costs some 10 us). Thread: any, one at a time.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_LIST_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_LIST_H_

#include <string>
#include <vector>

#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {

struct ListedEvent {
  std::string name;  // ParseEvent() accepts it
  EventKind kind = EventKind::kSoftware;
  bool opens_on_cpu = false;   // for the kernel recorder, on the first CPU
  bool opens_on_task = false;  // for counters at hooks, on the own thread
  std::string why_not;         // empty if it opens for both
};

struct ListEventsResult {
  std::vector<ListedEvent>
      events;  // software, hardware, cache, pmu, libpfm4's, tracepoint
  std::vector<std::string>
      messages;  // what could not be listed, with the reason
};

ListEventsResult ListEvents();

// perf_event_open(2). Returns a descriptor (close-on-exec) or -1 and errno.
int OpenPerfEvent(const perf_event_attr& attr, int tid, int cpu, int group_fd,
                  unsigned long flags = 0);

// The same of `event`, whose attributes are `attr`: ENODEV on a CPU that its
// PMU is not to be counted on.
int OpenPerfEvent(const EventSpec& event, const perf_event_attr& attr, int tid,
                  int cpu, int group_fd, unsigned long flags = 0);

// The reason why perf_event_open() failed, with the remedy if there is one.
std::string ExplainOpenError(int error);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_LIST_H_
