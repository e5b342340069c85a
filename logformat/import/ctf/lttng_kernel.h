// Classifies the events of LTTng's kernel tracer by their names and fields.
//
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_LTTNG_KERNEL_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_LTTNG_KERNEL_H_

#include <babeltrace2/babeltrace.h>

#include <string>
#include <vector>

#include "logformat/import/ctf/ctf_event.h"
#include "logformat/import/kernel/kernel_events.h"
#include "logformat/trace_info.h"

namespace countrace::importer {

// Sets kind, fields and hook of an event class; its name is already set.
void ClassifyLttngKernel(const bt_event_class& event_class, CtfEventPlan& plan);

struct LttngKernelClasses : KernelClasses {
  // Contexts of sched_switch that are counters, in the order of `counters`.
  std::vector<std::string> counter_fields;
};
// All event classes of kernel streams. Facts they do not contain are listed in
// `info.not_known`.
LttngKernelClasses DescribeLttngKernel(
    const std::vector<const bt_event_class*>& classes,
    logformat::TraceInfo& info);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_LTTNG_KERNEL_H_
