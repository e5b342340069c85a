// What the events of LTTng's kernel tracer are, by their names and fields.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_FOREIGN_LTTNG_KERNEL_H_
#define COUNTRACE_RMAP_FOREIGN_LTTNG_KERNEL_H_

#include <babeltrace2/babeltrace.h>

#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "rmap/foreign/ctf_event.h"
#include "rmap/foreign/kernel_events.h"

namespace countrace::rmap::foreign {

// Kind, fields and hook of an event class; its name is there already.
void ClassifyLttngKernel(const bt_event_class& event_class, CtfEventPlan& plan);

struct LttngKernelClasses : KernelClasses {
  // Contexts of sched_switch that are counters, in the order of `counters`.
  std::vector<std::string> counter_fields;
};
// All event classes of kernel streams. What they cannot say goes into
// `info.not_known`.
LttngKernelClasses DescribeLttngKernel(
    const std::vector<const bt_event_class*>& classes,
    logformat::TraceInfo& info);

}  // namespace countrace::rmap::foreign

#endif  // COUNTRACE_RMAP_FOREIGN_LTTNG_KERNEL_H_
