// Interrupts and softirqs, whose work belongs to no thread. In their context
// the thread on the CPU is the interrupted one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_INTERRUPT_EVENTS_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_INTERRUPT_EVENTS_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/hook_events.bpf.h"

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_enter, int line, struct irqaction* action) {
  return hook_event(COUNTRACE_FAMILY_IRQ, COUNTRACE_PLACE_ENTER, line, 0);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int line, struct irqaction* action, int ret) {
  return hook_event(COUNTRACE_FAMILY_IRQ, COUNTRACE_PLACE_EXIT, line, ret);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_enter, unsigned int number) {
  return hook_event(COUNTRACE_FAMILY_SOFTIRQ, COUNTRACE_PLACE_ENTER, number, 0);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int number) {
  return hook_event(COUNTRACE_FAMILY_SOFTIRQ, COUNTRACE_PLACE_EXIT, number, 0);
}

#ifdef __TARGET_ARCH_x86
#define VECTOR_PROGRAMS(name, number)                                         \
  SEC("tp_btf/" #name "_entry")                                               \
  int BPF_PROG(on_##name##_enter, int vector) {                               \
    return hook_event(COUNTRACE_FAMILY_VECTOR, COUNTRACE_PLACE_ENTER, number, \
                      0);                                                     \
  }                                                                           \
  SEC("tp_btf/" #name "_exit")                                                \
  int BPF_PROG(on_##name##_exit, int vector) {                                \
    return hook_event(COUNTRACE_FAMILY_VECTOR, COUNTRACE_PLACE_EXIT, number,  \
                      0);                                                     \
  }

VECTOR_PROGRAMS(local_timer, COUNTRACE_VECTOR_LOCAL_TIMER)
VECTOR_PROGRAMS(reschedule, COUNTRACE_VECTOR_RESCHEDULE)
VECTOR_PROGRAMS(call_function, COUNTRACE_VECTOR_CALL_FUNCTION)
VECTOR_PROGRAMS(call_function_single, COUNTRACE_VECTOR_CALL_FUNCTION_SINGLE)
VECTOR_PROGRAMS(irq_work, COUNTRACE_VECTOR_IRQ_WORK)
VECTOR_PROGRAMS(x86_platform_ipi, COUNTRACE_VECTOR_X86_PLATFORM_IPI)
#endif

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_INTERRUPT_EVENTS_BPF_H_
