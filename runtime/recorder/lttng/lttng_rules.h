// What our options are in LTTng's words.
#ifndef COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RULES_H_
#define COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

// The filter expression for `globs` on provider:name, separated by commas;
// empty for none. Returns: INVALID_ARGUMENT a glob with '?', '[' or '\', which
// LTTng does not know.
absl::StatusOr<std::string> LttngFilter(const std::string& globs);

// The context that counts `event` at each record: "perf:thread:...". Opens the
// event once: LTTng leaves out a whole channel without a word if one of its
// counters cannot be opened. Returns: INVALID_ARGUMENT unknown, or not
// countable here.
absl::StatusOr<std::string> LttngContext(const std::string& event);

// LTTng takes powers of two only: the next one, at least `least`.
std::uint64_t NextPowerOfTwo(std::uint64_t value, std::uint64_t least);

// The sum of all <discarded_events> and <lost_packets> in what `lttng --mi xml
// list SESSION` says.
struct LttngLosses {
  std::uint64_t events = 0, packets = 0;
};
LttngLosses ParseLttngLosses(const std::string& xml);

// The events of the kernel's domain that say who ran when.
const std::vector<std::string>& LttngKernelEvents();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RULES_H_
