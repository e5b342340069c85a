// Sends a signal to the thread in which a perf event overflowed, if its process
// handles that signal: the default action of most would end it.
#include <linux/bpf.h>
// (the others need its types)
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), \
                             apply_to = record)
struct sigaction {
  void* sa_handler;  // 0: the default action; 1: ignored
};
struct k_sigaction {
  struct sigaction sa;
};
struct sighand_struct {
  struct k_sigaction action[64];
};
struct task_struct {
  struct sighand_struct* sighand;
};
#pragma clang attribute pop

const volatile unsigned signal_number = 0;
// overflow_signals.cc reads them.
unsigned long long sent = 0, unhandled = 0, failed = 0;

SEC("perf_event")
int on_overflow(void* context) {
  struct task_struct* const task = (struct task_struct*)bpf_get_current_task();
  struct sighand_struct* const handlers = BPF_CORE_READ(task, sighand);
  if (!handlers) return 0;
  // The kernel's structure of one signal may be larger than ours.
  const char* const action =
      (const char*)handlers +
      bpf_core_field_offset(struct sighand_struct, action) +
      (signal_number - 1) * bpf_core_type_size(struct k_sigaction);
  void* handler = 0;
  bpf_probe_read_kernel(
      &handler, sizeof(handler),
      action + bpf_core_field_offset(struct k_sigaction, sa) +
          bpf_core_field_offset(struct sigaction, sa_handler));
  if ((unsigned long)handler <= 1) {
    __sync_fetch_and_add(&unhandled, 1);
  } else if (bpf_send_signal_thread(signal_number) == 0) {
    __sync_fetch_and_add(&sent, 1);
  } else {
    __sync_fetch_and_add(&failed, 1);
  }
  return 0;
}

char countrace_license[] SEC("license") = "Dual MIT/GPL";
