// Events of a PMU that describes itself in sysfs: `pmu/term=value,.../`.
//
// In: the PMU's name and its terms. Out: perf_event_attr.type and config words,
// packed as the PMU's format files describe. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_PMU_EVENT_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_PMU_EVENT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

struct PmuConfig {
  std::uint32_t type = 0;
  std::array<std::uint64_t, 3> config{};  // config, config1, config2
  // Where the PMU says that it is to be counted (its file cpumask), as one CPU
  // for each package; empty: anywhere.
  std::vector<std::uint32_t> cpus = {};
};

// Terms: `name=value`, `name` (= 1), the name of one of the PMU's events, or
// config, config1, config2 themselves. Values decimal or 0x hexadecimal.
// `root` holds one directory for each PMU. Returns: INVALID_ARGUMENT naming the
// unknown PMU, term, or the value that does not fit its bits.
inline constexpr char kPmuRoot[] = "/sys/bus/event_source/devices";
absl::StatusOr<PmuConfig> ParsePmuEvent(std::string_view pmu,
                                        std::string_view terms,
                                        const std::string& root = kPmuRoot);

// Bits of a format file: "config1:0-7,32" -> word 1, bits {0..7, 32}.
struct PmuBits {
  std::size_t word = 0;
  std::vector<unsigned> bits;  // least significant bit of the value first
};
absl::StatusOr<PmuBits> ParsePmuFormat(std::string_view text);

// Every event that the PMUs list, as `pmu/event/`, sorted.
std::vector<std::string> ListPmuEvents(const std::string& root = kPmuRoot);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_PMU_EVENT_H_
