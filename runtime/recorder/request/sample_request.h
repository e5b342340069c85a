// `record --sample N[:EVENT]`: which event is sampled, and how often.
//
// A counted event is sampled with two periods, which a report compares: a loop
// of the program in which the event happens as often as a period has events
// would show one of its functions only (docs/samples.md).
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_REQUEST_SAMPLE_REQUEST_H_
#define COUNTRACE_RUNTIME_RECORDER_REQUEST_SAMPLE_REQUEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/sample_points.h"
#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {

// One of the two is not 0.
struct SampleRequest {
  EventSpec event;
  std::uint64_t rate_hz = 0;       // samples a second of each CPU
  std::uint64_t period = 0;        // a sample at each such number of events
  bool exactly = false;            // with this period and no other
  std::uint64_t other_period = 0;  // of the other request of two; 0: none
  // What is copied of the user stack with each sample, to be unwound by DWARF;
  // 0: frame pointers are followed.
  std::uint32_t stack_bytes = 0;
  // What else of each sample is stored (--data).
  logformat::SampleData data = logformat::SampleData::kNone;

  // "199 Hz", "every 97, user code", "every 1621 and 2621": what the trace says
  // of the point.
  std::string Text() const;
};

// "199", "199:page-faults", "every=1000:page-faults", "exactly=1000:
// page-faults"; without an event cpu-clock. Returns: INVALID_ARGUMENT another
// form, a number out of range, an unknown event, or one that has no samples; as
// ParseEvent().
absl::StatusOr<SampleRequest> ParseSampleRequest(std::string_view text);

// The requests with two prime periods that together take as many samples as
// this one; only this one if it is exact, is for less than 100 events (each
// sample may be needed) or more than 10^12, has a rate, or is of a clock.
std::vector<SampleRequest> WithTwoPeriods(const SampleRequest& request);

// All of `texts`, with two periods. Returns also: INVALID_ARGUMENT an event
// given twice, or more than kMaxSampledEvents.
inline constexpr std::size_t kMaxSampledEvents = 8;
absl::StatusOr<std::vector<SampleRequest>> ParseSampleRequests(
    const std::vector<std::string>& texts);

// `record --call-graph`: "fp", "dwarf" or "dwarf,BYTES" to
// SampleRequest::stack_bytes. Returns: INVALID_ARGUMENT another form, more than
// the kernel copies, or no rules for this processor.
inline constexpr std::uint32_t kDefaultStackBytes = 8192;
inline constexpr std::uint32_t kMostStackBytes = 65528;
absl::StatusOr<std::uint32_t> ParseCallGraph(std::string_view text);

// `record --data`: sets `data` of the requests whose events have addresses: of
// faults and breakpoints the kernel gives them, of a PMU's events the PMU may.
// Returns: the events without; INVALID_ARGUMENT there is no other.
absl::StatusOr<std::vector<std::string>> RequestData(
    std::vector<SampleRequest>& requests);

// Returns: INVALID_ARGUMENT the kernel refuses this rate; the message has both
// numbers and the remedy.
absl::Status CheckSampleRate(const SampleRequest& request,
                             std::uint64_t most_hz);
// kernel.perf_event_max_sample_rate; 0: not known.
std::uint64_t MostSamplesPerSecond();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_REQUEST_SAMPLE_REQUEST_H_
