// `record --sample N[:EVENT]`: which event is sampled, and how often.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_REQUEST_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_REQUEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {

// One of the two is not 0.
struct SampleRequest {
  EventSpec event;
  std::uint64_t rate_hz = 0;  // samples a second of each CPU
  std::uint64_t period = 0;   // a sample at each such number of events

  // "199 Hz", "every 1000, user code": what the trace says of the point.
  std::string Text() const;
};

// "199", "199:page-faults", "every=1000:page-faults"; without an event
// cpu-clock. Returns: INVALID_ARGUMENT another form, a number out of range, an
// unknown event, or one that has no samples; as ParseEvent().
absl::StatusOr<SampleRequest> ParseSampleRequest(std::string_view text);

// All of `texts`. Returns also: INVALID_ARGUMENT an event given twice, or more
// than kMaxSampledEvents.
inline constexpr std::size_t kMaxSampledEvents = 8;
absl::StatusOr<std::vector<SampleRequest>> ParseSampleRequests(
    const std::vector<std::string>& texts);

// Returns: INVALID_ARGUMENT the kernel refuses this rate; the message has both
// numbers and the remedy.
absl::Status CheckSampleRate(const SampleRequest& request,
                             std::uint64_t most_hz);
// kernel.perf_event_max_sample_rate; 0: not known.
std::uint64_t MostSamplesPerSecond();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_REQUEST_H_
