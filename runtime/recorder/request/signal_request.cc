#include "runtime/recorder/request/signal_request.h"

#include <signal.h>
#include <string.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "runtime/recorder/request/sample_request.h"

namespace countrace::runtime {
namespace {

constexpr std::string_view kSignalPrefix = "SIG";

// 0: there is none of this name.
int SignalOf(std::string_view name) {
  if (name.starts_with(kSignalPrefix)) name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* const known = sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return 0;
}

}  // namespace

std::string SignalRequest::SignalName() const {
  return absl::StrFormat("%s%s", kSignalPrefix, sigabbrev_np(signal));
}

absl::StatusOr<SignalRequest> ParseSignalRequest(std::string_view text) {
  const auto wrong = [text](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--signal-every %s: %s", base::EscapeName(std::string(text)), why));
  };
  SignalRequest request;
  std::string_view name = "SIGPROF";
  std::string_view events = text;
  // An event of a PMU may have "=" in it, and a signal's name has no slash.
  const std::size_t equals = text.rfind('=');
  if (equals != text.npos && text.find('/', equals) == text.npos) {
    name = text.substr(equals + 1);
    events = text.substr(0, equals);
  }
  request.signal = SignalOf(name);
  if (request.signal == 0) {
    return wrong("there is no such signal; write it like =SIGUSR1");
  }
  if (request.signal == SIGKILL || request.signal == SIGSTOP) {
    return wrong("no program can handle this signal; use SIGPROF or SIGUSR1");
  }
  // The same numbers and events as an exact period of samples.
  if (events.empty() || events.front() < '0' || events.front() > '9') {
    return wrong(
        "want a number of events, then perhaps a colon and an event, and = and "
        "a signal: 1000:page-faults, 1000:page-faults=SIGUSR1");
  }
  auto parsed = ParseSampleRequest(absl::StrFormat("exactly=%s", events));
  if (!parsed.ok()) return wrong(std::string(parsed.status().message()));
  if (parsed->event.type == PERF_TYPE_TRACEPOINT) {
    return wrong(
        "the kernel counts no tracepoints for a signal; there are clocks, "
        "software and hardware events");
  }
  request.event = std::move(parsed->event);
  request.period = parsed->period;
  return request;
}

}  // namespace countrace::runtime
