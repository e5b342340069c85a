// The parts of LTTng that this machine has. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_HERE_H_
#define COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_HERE_H_

#include <string>

#include "absl/status/status.h"

namespace countrace::runtime {

// Whether lttng-sessiond and lttng are in PATH. Returns: NOT_FOUND with the
// packages to install.
absl::Status LttngToolsAreHere();

// The reason why this process cannot record LTTng's kernel events; empty if it
// can.
std::string WhyNoLttngKernelEvents();

// LTTng-UST's library for fork(); empty if it is missing.
std::string LttngForkLibrary();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_HERE_H_
