#include "runtime/recorder/request/sample_request.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/code/user_registers.h"
#include "base/posix/small_file.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "logformat/sample_points.h"
#include "runtime/recorder/events/vocabulary_event.h"

namespace countrace::runtime {
namespace {

constexpr char kRateFile[] = "/proc/sys/kernel/perf_event_max_sample_rate";
constexpr char kDefaultEvent[] = "cpu-clock";
constexpr std::string_view kEvery = "every=", kExactly = "exactly=";
// More than any kernel allows; larger numbers are certainly periods.
constexpr std::uint64_t kMostHz = 1'000'000;
// The kernel takes 63 bits.
constexpr std::uint64_t kLongestPeriod = std::uint64_t{1} << 62;

absl::Status WrongForm(std::string_view text) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "--sample %s: want samples a second, every=PERIOD or exactly=PERIOD, "
      "then perhaps a colon and an event: 199, 199:cpu-clock, "
      "every=1000:page-faults",
      base::EscapeName(std::string(text))));
}

bool IsClock(const EventSpec& event) {
  return event.type == PERF_TYPE_SOFTWARE &&
         (event.config == PERF_COUNT_SW_CPU_CLOCK ||
          event.config == PERF_COUNT_SW_TASK_CLOCK);
}

logformat::SampleData DataOf(const EventSpec& event) {
  using logformat::SampleData;
  switch (event.type) {
    case PERF_TYPE_SOFTWARE:
      switch (event.config) {
        case PERF_COUNT_SW_PAGE_FAULTS:
        case PERF_COUNT_SW_PAGE_FAULTS_MIN:
        case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
        case PERF_COUNT_SW_ALIGNMENT_FAULTS:
          return SampleData::kAddress;
        default:
          return SampleData::kNone;
      }
    case PERF_TYPE_TRACEPOINT:
      return SampleData::kNone;
    case PERF_TYPE_BREAKPOINT:
      return SampleData::kAddress;
    default:
      return SampleData::kSource;
  }
}

// At most some 10^13: not slow.
std::uint64_t PrimeFrom(std::uint64_t number) {
  const auto is_prime = [](std::uint64_t n) {
    for (std::uint64_t i = 2; i * i <= n; ++i) {
      if (n % i == 0) return false;
    }
    return n > 1;
  };
  while (!is_prime(number)) ++number;
  return number;
}

}  // namespace

std::string SampleRequest::Text() const {
  std::string text = rate_hz != 0 ? absl::StrFormat("%d Hz", rate_hz)
                     : other_period != 0
                         ? logformat::TwoPeriodsText(period, other_period)
                         : absl::StrFormat("every %d", period);
  if (event.exclude_kernel) text += ", user code";
  if (event.exclude_user) text += ", kernel";
  return text;
}

absl::StatusOr<SampleRequest> ParseSampleRequest(std::string_view text) {
  SampleRequest request;
  const std::size_t colon = text.find(':');
  std::string_view number = text.substr(0, colon);
  request.exactly = number.starts_with(kExactly);
  const bool every = request.exactly || number.starts_with(kEvery);
  if (every)
    number.remove_prefix(request.exactly ? kExactly.size() : kEvery.size());
  const auto value = base::ParseInteger(std::string(number));
  if (!value || *value == 0) return WrongForm(text);
  std::string_view name = kDefaultEvent;
  if (colon != std::string_view::npos) name = text.substr(colon + 1);
  if (name.empty()) return WrongForm(text);
  auto event = ParseEvent(name);
  if (!event.ok()) return event.status();
  request.event = *std::move(event);
  if (request.event.is_exec_runtime()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--sample %s: exec-runtime is an account of the scheduler and has no "
        "samples; cpu-clock samples the time on CPUs",
        base::EscapeName(std::string(text))));
  }
  if (every) {
    if (*value > kLongestPeriod) return WrongForm(text);
    request.period = *value;
    // The kernel's timer does not run faster.
    if (IsClock(request.event) && *value < 10'000) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "--sample %s: the period of a clock is in nanoseconds, at least "
          "10000",
          base::EscapeName(std::string(text))));
    }
    for (const auto& row : RowsHere(name)) {
      if (request.period >= row.minimum) continue;
      return absl::InvalidArgumentError(absl::StrFormat(
          "--sample %s: the period %d is less than %d, the least of this event",
          base::EscapeName(std::string(text)), request.period, row.minimum));
    }
    return request;
  }
  if (*value > kMostHz) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--sample %s: %d samples a second are more than the %d that any kernel "
        "takes; a period is written every=%d",
        base::EscapeName(std::string(text)), *value, kMostHz, *value));
  }
  request.rate_hz = *value;
  return request;
}

std::vector<SampleRequest> WithTwoPeriods(const SampleRequest& request) {
  constexpr std::uint64_t kLeast = 100, kMost = 1'000'000'000'000;
  if (request.exactly || request.period < kLeast || request.period > kMost ||
      IsClock(request.event)) {
    return {request};
  }
  // 1 / g + 1 / g^2 = 1, so together they take as many samples as the one
  // period. Their proportion is the one farthest from all fractions: samples
  // of the two seldom come together.
  constexpr double kGolden = 1.618033988749895;
  const double period = static_cast<double>(request.period);
  std::vector<SampleRequest> two(2, request);
  two[0].period = PrimeFrom(static_cast<std::uint64_t>(period * kGolden));
  two[1].period =
      PrimeFrom(static_cast<std::uint64_t>(period * kGolden * kGolden));
  two[0].other_period = two[1].period;
  two[1].other_period = two[0].period;
  return two;
}

absl::StatusOr<std::vector<SampleRequest>> ParseSampleRequests(
    const std::vector<std::string>& texts) {
  std::vector<SampleRequest> requests;
  for (const std::string& text : texts) {
    auto request = ParseSampleRequest(text);
    if (!request.ok()) return request.status();
    const std::string& name = request->event.name;
    if (std::any_of(requests.begin(), requests.end(),
                    [&](const SampleRequest& other) {
                      return other.event.name == name;
                    })) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--sample %s: %s is sampled already",
                          base::EscapeName(text), base::EscapeName(name)));
    }
    requests.push_back(*std::move(request));
  }
  if (requests.size() > kMaxSampledEvents) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--sample: %d events are sampled, at most %d can be",
                        requests.size(), kMaxSampledEvents));
  }
  std::vector<SampleRequest> all;
  for (const SampleRequest& request : requests) {
    for (SampleRequest& one : WithTwoPeriods(request)) {
      all.push_back(std::move(one));
    }
  }
  return all;
}

absl::StatusOr<std::uint32_t> ParseCallGraph(std::string_view text) {
  if (text == "fp") return 0;
  const std::size_t comma = text.find(',');
  std::optional<std::uint64_t> bytes = kDefaultStackBytes;
  if (comma != std::string_view::npos) {
    bytes = base::ParseBytes(text.substr(comma + 1));
  }
  if (text.substr(0, comma) != "dwarf" || !bytes || *bytes == 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--call-graph %s: want fp (frame pointers), dwarf, or dwarf,BYTES of "
        "each stack: dwarf,16384",
        base::EscapeName(std::string(text))));
  }
  if (*bytes > kMostStackBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--call-graph %s: the kernel copies at most %d bytes of a stack, not "
        "%d",
        base::EscapeName(std::string(text)), kMostStackBytes, *bytes));
  }
  if (base::UserRegisterMask() == 0) {
    return absl::InvalidArgumentError(
        "--call-graph dwarf: not on this processor; use fp");
  }
  constexpr std::uint64_t kWord = 8;
  return static_cast<std::uint32_t>((*bytes + kWord - 1) / kWord * kWord);
}

absl::StatusOr<std::vector<std::string>> RequestData(
    std::vector<SampleRequest>& requests) {
  std::vector<std::string> without;
  bool any = false;
  for (SampleRequest& request : requests) {
    request.data = DataOf(request.event);
    if (request.data != logformat::SampleData::kNone) {
      any = true;
    } else if (std::find(without.begin(), without.end(), request.event.name) ==
               without.end()) {
      without.push_back(request.event.name);
    }
  }
  if (any) return without;
  return absl::InvalidArgumentError(absl::StrFormat(
      "--data: the kernel gives no data address with %s; it does with "
      "page-faults, minor-faults, major-faults, alignment-faults, breakpoints "
      "(mem:ADDRESS) and a PMU's events for memory: --sample "
      "every=100:page-faults --data",
      absl::StrJoin(without, ", ")));
}

absl::Status CheckSampleRate(const SampleRequest& request,
                             std::uint64_t most_hz) {
  if (most_hz == 0 || request.rate_hz <= most_hz) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "--sample %d: this kernel takes at most %d samples a second "
      "(kernel.perf_event_max_sample_rate, which it lowers itself when samples "
      "cost too much): use a lower rate, or `sysctl -w "
      "kernel.perf_event_max_sample_rate=%d`",
      request.rate_hz, most_hz, request.rate_hz));
}

std::uint64_t MostSamplesPerSecond() {
  const auto most = base::ReadNumber(kRateFile);
  return most && *most > 0 ? static_cast<std::uint64_t>(*most) : 0;
}

}  // namespace countrace::runtime
