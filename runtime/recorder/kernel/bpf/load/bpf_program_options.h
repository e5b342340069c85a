// What is asked of the BPF programs of kernel_programs.bpf.c.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_PROGRAM_OPTIONS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_PROGRAM_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "logformat/rules/gating.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"
#include "runtime/recorder/kernel/process_marks.h"
#include "runtime/recorder/request/off_cpu_request.h"

namespace countrace::runtime {

// A CPU's place in `cpus` is its slot.
struct BpfProgramOptions {
  std::vector<std::uint32_t> cpus;  // online
  EventChoice choice;               // the events
  bool fault_records = false;
  bool wakeups = false;
  OffCpuRequest off_cpu;
  bool names_code = false;  // NameKernelCode() will be called
  KernelHookRequest hooks;
  KernelHookRules hook_rules;
  // The processes whose records are written, and the mode of fault records.
  logformat::Gating gating;
  ProcessMarks marks;
  bool follow_marks = false;     // the marked processes are needed
  std::uint64_t ring_bytes = 0;  // of each CPU, rounded up to a power of two
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_PROGRAM_OPTIONS_H_
