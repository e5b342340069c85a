#include "rmap/counters/counter_doubts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::rmap {
namespace {

using logformat::CounterLimit;

std::string Seconds(std::uint64_t ns) {
  return absl::StrFormat("%.4f s", static_cast<double>(ns) / 1e9);
}

std::string Place(const DoubtedInterval& interval) {
  return absl::StrFormat("on %s %d from %d to %d ns",
                         interval.cpu >= 0 ? "cpu" : "tid",
                         interval.cpu >= 0 ? interval.cpu : interval.tid,
                         interval.begin_ns, interval.end_ns);
}

std::string WrappedMessage(const std::string& event, const CounterLimit& limit,
                           const DoubtSum& sum) {
  const auto wrap_ns = limit.WrapNs();
  if (!wrap_ns) {
    return absl::StrFormat(
        "%s: its counter of %d bits began again at 0 in %d intervals, %s "
        "together (the longest %s), and the trace does not say how fast it can "
        "count: it may have wrapped more than once, its counts are lower "
        "bounds; write the rate into the trace (FORMAT.md, 4.7)",
        event, limit.width, sum.intervals, Seconds(sum.ns), Place(sum.longest));
  }
  return absl::StrFormat(
      "%s: %d intervals between two dumps, %s together, are longer than the %s "
      "in which a counter of %d bits can wrap at %d/s (the longest, %s, %s): "
      "it "
      "may have wrapped more than once, its counts are lower bounds; dump more "
      "often",
      event, sum.intervals, Seconds(sum.ns), Seconds(*wrap_ns), limit.width,
      limit.per_second, Seconds(sum.longest.ns()), Place(sum.longest));
}

std::string WentBackMessage(const std::string& event, const CounterLimit& limit,
                            const DoubtSum& sum) {
  const DoubtedInterval& longest = sum.longest;
  std::string most;
  if (limit.per_second != 0) {
    most = absl::StrFormat(", which a counter of %d bits and %d/s cannot",
                           limit.width, limit.per_second);
  }
  return absl::StrFormat(
      "%s: its counter went from %d to %d %s%s: it was reset, or used by "
      "another program, and what was counted in %d such intervals, %s "
      "together, "
      "is not known: its counts are lower bounds; leave the counters alone "
      "while recording",
      event, longest.from, longest.to, Place(longest), most, sum.intervals,
      Seconds(sum.ns));
}

std::string OtherMmcrMessage(const std::string& event, const CounterLimit&,
                             const DoubtSum& sum) {
  return absl::StrFormat(
      "%s: the MMCR changed in %d intervals (the longest from %d to %d %s), so "
      "that the counters "
      "on both sides count different things; what was counted in those %s is "
      "not known: its counts are lower bounds; record event sets, which say "
      "what each counts",
      event, sum.intervals, sum.longest.from, sum.longest.to,
      Place(sum.longest), Seconds(sum.ns));
}

}  // namespace

void CounterDoubts::Add(DoubtReason reason, std::size_t event,
                        const DoubtedInterval& interval) {
  std::vector<DoubtSum>& sums = sums_[static_cast<std::size_t>(reason)];
  if (event >= sums.size()) sums.resize(event + 1);
  DoubtSum& sum = sums[event];
  any_ = true;
  sum.ns += interval.ns();
  if (sum.intervals++ == 0 || interval.ns() > sum.longest.ns()) {
    sum.longest = interval;
  }
}

std::vector<std::string> CounterDoubts::Messages(
    const std::vector<std::string>& events,
    const std::vector<CounterLimit>& limits) const {
  std::vector<std::string> messages;
  if (!any_) return messages;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const CounterLimit limit = i < limits.size() ? limits[i] : CounterLimit();
    for (const auto& [reason, text] :
         {std::pair(DoubtReason::kWrapped, &WrappedMessage),
          std::pair(DoubtReason::kWentBack, &WentBackMessage),
          std::pair(DoubtReason::kOtherMmcr, &OtherMmcrMessage)}) {
      const DoubtSum sum = Of(reason, i);
      if (sum.intervals != 0) messages.push_back(text(events[i], limit, sum));
    }
  }
  return messages;
}

}  // namespace countrace::rmap
