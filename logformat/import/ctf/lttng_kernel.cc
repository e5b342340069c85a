#include "logformat/import/ctf/lttng_kernel.h"

#include <string_view>
#include <utility>

#include "logformat/import/kernel/counter_names.h"

namespace countrace::importer {

namespace {

struct KnownEvent {
  std::string_view name;
  EventKind kind;
  std::vector<const char*> fields;  // by role
};

// Names and fields in lttng-modules 2.13, and older names of the same events.
const std::vector<KnownEvent>& KnownEvents() {
  static const auto& known = *new std::vector<KnownEvent>{
      {"sched_switch",
       EventKind::kSwitch,
       {"prev_tid", "next_tid", "prev_state", "prev_comm", "next_comm"}},
      {"sched_waking", EventKind::kWaking, {"tid", "target_cpu"}},
      {"sched_wakeup", EventKind::kWaking, {"tid", "target_cpu"}},
      {"sched_wakeup_new", EventKind::kWaking, {"tid", "target_cpu"}},
      {"sched_process_fork",
       EventKind::kFork,
       {"child_pid", "child_tid", "parent_pid", "parent_tid", "child_comm"}},
      {"sched_process_exec", EventKind::kExec, {"tid", "old_tid", "filename"}},
      {"sched_process_exit", EventKind::kProcessExit, {"tid", "comm"}},
      {"task_rename", EventKind::kComm, {"tid", "newcomm"}},
      {"lttng_statedump_process_state",
       EventKind::kProcessState,
       {"tid", "pid", "ppid", "type", "name"}},
      {"irq_handler_entry", EventKind::kInterruptEnter, {"irq", "name"}},
      {"irq_handler_exit", EventKind::kInterruptExit, {"irq"}},
      {"irq_softirq_entry", EventKind::kInterruptEnter, {"vec"}},
      {"irq_softirq_exit", EventKind::kInterruptExit, {"vec"}},
      {"x86_exceptions_page_fault_user", EventKind::kPageFault, {"address"}},
      {"x86_exceptions_page_fault_kernel", EventKind::kPageFault, {"address"}},
      {"page_fault_user", EventKind::kPageFault, {"address"}},
      {"page_fault_kernel", EventKind::kPageFault, {"address"}},
  };
  return known;
}

}  // namespace

void ClassifyLttngKernel(const bt_event_class& event_class,
                         CtfEventPlan& plan) {
  const std::string_view name = plan.name;
  plan.kind = EventKind::kKernelPoint;
  plan.repeats_waking = name == "sched_wakeup";
  std::vector<const char*> fields;
  constexpr std::string_view kVectors = "x86_irq_vectors_";
  for (const KnownEvent& known : KnownEvents()) {
    if (known.name != name) continue;
    plan.kind = known.kind;
    fields = known.fields;
    plan.provider = name.starts_with("irq_softirq") ? "softirq" : "irq";
  }
  for (const bool compat : {false, true}) {
    std::string_view rest = name;
    if (compat) {
      if (!rest.starts_with("compat_")) continue;
      rest.remove_prefix(7);
    }
    if (!rest.starts_with("syscall_e")) continue;
    plan.provider = compat ? "syscall32" : "syscall";
    if (rest.starts_with("syscall_entry_")) {
      plan.kind = EventKind::kSyscallEnter;
      plan.hook_name = rest.substr(std::string_view("syscall_entry_").size());
    }
    if (rest.starts_with("syscall_exit_")) {
      plan.kind = EventKind::kSyscallExit;
      plan.hook_name = rest.substr(std::string_view("syscall_exit_").size());
      fields = {"ret"};
    }
  }
  if (name.starts_with(kVectors)) {
    plan.provider = "irq";
    if (name.ends_with("_entry")) plan.kind = EventKind::kInterruptEnter;
    if (name.ends_with("_exit")) plan.kind = EventKind::kInterruptExit;
    // x86_irq_vectors_local_timer_entry
    plan.hook_name = name.substr(kVectors.size());
    plan.hook_name.resize(plan.hook_name.find_last_of('_') == std::string::npos
                              ? plan.hook_name.size()
                              : plan.hook_name.rfind('_'));
    fields = {"vector"};
  }
  if (name.starts_with("lttng_statedump_") &&
      plan.kind == EventKind::kKernelPoint) {
    plan.kind = EventKind::kIgnored;
  }
  const bt_field_class* payload =
      bt_event_class_borrow_payload_field_class_const(&event_class);
  for (const char* field : fields) {
    // Payload only: contexts may also be called tid and pid.
    const auto member = MemberIndex(payload, field);
    plan.fields.push_back(
        member ? std::optional(FieldPlace{FieldScope::kPayload, *member})
               : std::nullopt);
  }
}

LttngKernelClasses DescribeLttngKernel(
    const std::vector<const bt_event_class*>& classes,
    logformat::TraceInfo& info) {
  LttngKernelClasses found;
  const bt_event_class* sched_switch = nullptr;
  bool has_wakeup = false, has_process_state = false;
  for (const bt_event_class* event_class : classes) {
    const char* text = bt_event_class_get_name(event_class);
    const std::string_view name = text == nullptr ? "" : text;
    if (name == "sched_switch") sched_switch = event_class;
    found.waking |= name == "sched_waking";
    has_wakeup |= name == "sched_wakeup" || name == "sched_waking";
    found.faults |= name.find("page_fault_user") != name.npos;
    has_process_state |= name == "lttng_statedump_process_state";
  }
  found.any = !classes.empty();
  found.sched_switch = sched_switch != nullptr;
  if (!found.sched_switch) return found;
  const bt_field_class* contexts[] = {
      bt_stream_class_borrow_event_common_context_field_class_const(
          bt_event_class_borrow_stream_class_const(sched_switch)),
      bt_event_class_borrow_specific_context_field_class_const(sched_switch)};
  std::string unsure;
  for (const bt_field_class* context : contexts) {
    for (std::string& field : CounterContexts(context, kCpuCounterPrefix)) {
      // Three more may be counted from records.
      if (found.counters.size() + 3 == logformat::kMaxDumpValues) break;
      const std::string event = EventOfContext(field);
      if (!IsSoftwareEvent(event)) {
        unsure += (unsure.empty() ? "" : ", ") + event;
      }
      found.counters.push_back(event);
      found.counter_fields.push_back(std::move(field));
    }
  }
  if (!unsure.empty()) {
    info.not_known.push_back(
        "whether the counters of " + unsure +
        " ran all the time (LTTng records no running time): if they were "
        "multiplexed, the counts are lower bounds");
  }
  if (!has_wakeup) {
    info.not_known.push_back("who woke whom (no sched_waking in the trace)");
  } else if (!found.waking) {
    info.not_known.push_back(
        "who woke whom, for certain: the trace has sched_wakeup but no "
        "sched_waking, and the kernel may write it on the woken thread's CPU");
  }
  if (!has_process_state) {
    info.not_known.push_back(
        "processes and names of threads that began before the recording and "
        "did not run (no lttng_statedump_process_state)");
  }
  return found;
}

}  // namespace countrace::importer
