// The gating and the marks of a recording, from its options.
//
// In: RecordOptions. Out: the gating as the trace stores it, and the part of it
// that the kernel recorder enforces. Thread: any. Errors: contradicting
// options.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_RECORDED_GATING_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_RECORDED_GATING_H_

#include "absl/status/status.h"
#include "logformat/rules/gating.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/request/record_options.h"

namespace countrace::runtime {

// As given; else marked processes if processes are marked by name, or a command
// or processes are recorded; else all.
logformat::Gating GatingOf(const RecordOptions& options);
// The same with the processes whose kernel records are kept: a recording that
// counts nothing keeps their dispatches, without counters.
logformat::Gating KeptBy(const RecordOptions& options);
// True if the command, or the processes of -p, are marked: unless --mark
// chooses others in a recording of the whole machine.
bool MarksRoots(const RecordOptions& options);
logformat::SessionScope KernelScope(const RecordOptions& options);

// Returns: INVALID_ARGUMENT kernel segments where the kernel is not counted, or
// a choice of processes where none is marked.
absl::Status CheckGating(const RecordOptions& options);

void DescribeGating(const RecordOptions& options,
                    logformat::SessionControl& control);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_RECORDED_GATING_H_
