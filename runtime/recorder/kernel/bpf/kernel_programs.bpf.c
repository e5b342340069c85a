// All BPF programs of the recorder: one object, so that they share their maps.
#include "ring_writer.bpf.h"
// (the programs need the ring)
#include "code_names.bpf.h"
#include "hook_events.bpf.h"
#include "interrupt_events.bpf.h"
#include "sched_events.bpf.h"

char countrace_license[] SEC("license") = "Dual MIT/GPL";
