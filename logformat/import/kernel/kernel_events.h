// Converts events of a kernel tracer, by their fields, to facts about CPUs:
// switches, processes, system calls, interrupts, faults. Only the code that
// makes the plans depends on the tracer (lttng_kernel.h, perf/sample_plans.h).
//
// In: events in time order, with a plan of their class. Out: CpuRecords.
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_KERNEL_KERNEL_EVENTS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_KERNEL_KERNEL_EVENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "logformat/import/kernel/cpu_records.h"
#include "logformat/import/mapping/event_plan.h"
#include "logformat/import/source_stream.h"
#include "logformat/import/trace_output.h"

namespace countrace::importer {

// Which kinds of events a trace can have, known before the first one.
struct KernelClasses {
  bool any = false;
  bool sched_switch = false;
  bool waking = false;  // sched_waking, which sched_wakeup repeats
  bool faults = false;
  // Events that the plans of sched_switch have counter slots for.
  std::vector<std::string> counters;
};

class KernelEvents {
 public:
  KernelEvents(CpuRecords& records, TraceOutput& output)
      : records_(records), output_(output) {}

  // Call before the first event.
  void SetClasses(const KernelClasses& classes);
  void OnEvent(const SourceEvent& source, const EventPlan& plan);

 private:
  // Reads the counters of an event; false if some are missing.
  bool TakeCounters(CpuBooks& cpu, const SourceEvent& source,
                    const EventPlan& plan);
  void OnSwitch(CpuBooks& cpu, const SourceEvent& source,
                const EventPlan& plan);
  void OnTask(CpuBooks& cpu, const SourceEvent& source, const EventPlan& plan);
  void OnHook(CpuBooks& cpu, const SourceEvent& source, const EventPlan& plan,
              std::uint32_t hook, bool exit, std::uint64_t number);
  void OnInterrupt(CpuBooks& cpu, const SourceEvent& source,
                   const EventPlan& plan);

  CpuRecords& records_;
  TraceOutput& output_;
  bool has_waking_ = false;
  // By CPU: hooks of the interrupts open there.
  std::map<std::int32_t, std::vector<std::uint32_t>> interrupts_;
  std::vector<std::uint64_t> counts_;
  std::string values_;  // of an enter
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_KERNEL_KERNEL_EVENTS_H_
