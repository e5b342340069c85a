// What of LTTng this machine has. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_HERE_H_
#define COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_HERE_H_

#include <string>

#include "absl/status/status.h"

namespace countrace::runtime {

// Whether lttng-sessiond and lttng are in PATH. Returns: NOT_FOUND with what to
// install.
absl::Status LttngToolsAreHere();

// Empty: this process could record LTTng's kernel events; else why not.
std::string WhyNoLttngKernelEvents();

// LTTng-UST's library for fork(); empty if it is missing.
std::string LttngForkLibrary();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_HERE_H_
