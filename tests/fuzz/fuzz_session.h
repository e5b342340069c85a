// The session that the inputs of the stream fuzzers belong to.
#ifndef COUNTRACE_TESTS_FUZZ_FUZZ_SESSION_H_
#define COUNTRACE_TESTS_FUZZ_FUZZ_SESSION_H_

#include "logformat/description/trace_description.h"

namespace countrace::logformat {

// The uuid is all zeros, so that a fuzzer finds heads easily. Hook 1 is a
// segment with every payload type, hook 2 a point hook with one string. Packets
// may have checksums: few inputs would have the right ones if they had to.
inline TraceDescription FuzzSession() {
  TraceDescription description;
  description.info.format = 2;
  description.info.cpus = 2;
  description.info.cpu_events = {"task-clock", "page-faults"};
  description.info.thread_events = {"page-faults"};
  description.info.hooks.push_back(
      *ParseHookText(1, "segment\tiudsp\tp:segment\ta.cc:1"));
  description.info.hooks.push_back(
      *ParseHookText(2, "point\ts\tp:point\ta.cc:2"));
  return description;
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_TESTS_FUZZ_FUZZ_SESSION_H_
