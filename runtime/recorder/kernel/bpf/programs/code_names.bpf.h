// Names of the kernel's code, a few of which the recorder needs: all of
// /proc/kallsyms takes the kernel and the recorder tens of milliseconds.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_CODE_NAMES_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_CODE_NAMES_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"

// The last address that was requested, as the kernel prints it: "NAME+0x8/
// 0x1c", with " [MODULE]".
char code_name[COUNTRACE_CODE_NAME_BYTES];

static const char code_format[] = "%pS";

// Run by the recorder (BPF_PROG_TEST_RUN).
SEC("raw_tp")
int name_code(__u64* request) {
  __u64 address = request[0];
  bpf_snprintf(code_name, sizeof(code_name), code_format, &address,
               sizeof(address));
  return 0;
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_CODE_NAMES_BPF_H_
