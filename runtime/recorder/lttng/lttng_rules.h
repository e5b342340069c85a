// Converts our options to LTTng's.
#ifndef COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RULES_H_
#define COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

// The filter expression for `globs` on provider:name, separated by commas;
// empty without globs. Returns: INVALID_ARGUMENT a glob with '?', '[' or '\',
// which LTTng does not support.
absl::StatusOr<std::string> LttngFilter(const std::string& globs);

// The context that counts `event` at each record: "perf:thread:...". Opens the
// event once: LTTng silently leaves out a whole channel if one of its counters
// cannot be opened. Returns: INVALID_ARGUMENT unknown, or not countable here.
absl::StatusOr<std::string> LttngContext(const std::string& event);

// The next power of two, at least `least`: LTTng takes nothing else.
std::uint64_t NextPowerOfTwo(std::uint64_t value, std::uint64_t least);

// The sum of all <discarded_events> and <lost_packets> in the output of `lttng
// --mi xml list SESSION`.
struct LttngLosses {
  std::uint64_t events = 0, packets = 0;
};
LttngLosses ParseLttngLosses(const std::string& xml);

// The events of the kernel's domain that give the dispatches of threads.
const std::vector<std::string>& LttngKernelEvents();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RULES_H_
