// All BPF programs of the recorder: one object, so that they share their maps.
#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"
// (the programs need the ring)
#include "runtime/recorder/kernel/bpf/programs/code_names.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/hook_events.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/interrupt_events.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/sched_events.bpf.h"

char countrace_license[] SEC("license") = "Dual MIT/GPL";
