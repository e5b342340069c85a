// Traces of cases in files: event lines, "---", the expected tables.
//
//   scope system|command|hooks          root PID          recorder PID
//   count MODES|all|none                as record --count
//   begin NS                            session-lost CAUSE N
//   cpu-events NAME...                  thread-events NAME...
//   hook-cost CPU-PS PS PS-WITH-COUNTERS
//   bpf-time NS SAMPLED-NS
//   probe-cost ID NS LO HI NS LO HI     inside and outside of a call
//   segment|point ID PROVIDER NAME
//   kernel-segment|kernel-point|probe-segment|probe-point|interrupt ID
//                                                              PROVIDER NAME
//
// A CPU's records; VALUE... are its counters:
//   @TIME cpuN begin|end|tick RUNNING VALUE...
//   @TIME cpuN switch PREV NEXT STATE VALUE...   STATE: S or D sleeps,
//                                                P preempted, R yielded, X dead
//   @TIME cpuN switch-in|computed-in PREV NEXT
//   @TIME cpuN wakeup WAKER WAKEE
//   @TIME cpuN state|mark|exec|comm PID/TID NAME   mark: a state with the mark
//   @TIME cpuN fork CHILD PARENT                 both PID/TID
//   @TIME cpuN exit|fault PID/TID
//   @TIME cpuN hook PID/TID enter|exit|hit ID [returns N]
//                                                [dump VALUE...]
//   @TIME cpuN lost N CAUSE
//   @TIME cpuN lost-packet REASON
//
// A thread's records:
//   @TIME PID/TID enter|exit|hit ID [dump MMCR PRESENT VALUE...]
//   @TIME PID/TID jump ID SINCE                  a point countrace jump
//   @TIME PID/TID stack ID FROM TO               a point countrace stack
//   @TIME PID/TID lost N CAUSE
#ifndef COUNTRACE_TESTS_RMAP_CASE_TRACE_H_
#define COUNTRACE_TESTS_RMAP_CASE_TRACE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "tests/rmap/memory_trace.h"

namespace countrace::test_support {

struct CaseFile {
  std::string events, expected;
};
CaseFile ReadCase(const std::filesystem::path& path);

// All files of cases, by name.
std::vector<std::filesystem::path> Cases();

// Makes the trace of `events`; a line that is none fails the test.
void Build(const std::string& events, MemoryTrace& trace);

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_CASE_TRACE_H_
