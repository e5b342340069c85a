#include "rmap/kept_time.h"

#include "logformat/description/recorded_part.h"

namespace countrace::rmap {

using logformat::TimeSpan;

KeptTime::KeptTime(const std::vector<TimeSpan>& pauses) {
  std::uint64_t left_out_ns = 0;
  for (const TimeSpan& pause : pauses) {
    pauses_.push_back({pause, pause.from_ns - left_out_ns});
    left_out_ns += pause.until_ns - pause.from_ns;
  }
}

// A pause without an end has nothing behind it.
std::uint64_t KeptTime::Behind(const Pause& pause, std::uint64_t kept_ns) {
  const TimeSpan& real = pause.real;
  return (real.until_ns == logformat::kNotReached ? real.from_ns
                                                  : real.until_ns) +
         (kept_ns - pause.kept_ns);
}

std::uint64_t KeptTime::Map(std::uint64_t time_ns) const {
  const auto next = std::ranges::upper_bound(
      pauses_, time_ns, {},
      [](const Pause& pause) { return pause.real.from_ns; });
  if (next == pauses_.begin()) return time_ns;
  const Pause& pause = *(next - 1);
  return pause.kept_ns +
         (std::max(time_ns, pause.real.until_ns) - pause.real.until_ns);
}

std::uint64_t KeptTime::BeginAt(std::uint64_t kept_ns) const {
  const auto next =
      std::ranges::upper_bound(pauses_, kept_ns, {}, &Pause::kept_ns);
  return next == pauses_.begin() ? kept_ns : Behind(*(next - 1), kept_ns);
}

std::uint64_t KeptTime::EndAt(std::uint64_t kept_ns) const {
  const auto next =
      std::ranges::lower_bound(pauses_, kept_ns, {}, &Pause::kept_ns);
  return next == pauses_.begin() ? kept_ns : Behind(*(next - 1), kept_ns);
}

std::vector<TimeSpan> KeptTime::PartsOf(std::uint64_t begin_ns,
                                        std::uint64_t end_ns) const {
  const std::uint64_t from_ns = BeginAt(begin_ns);
  if (begin_ns >= end_ns) return {{from_ns, from_ns}};
  std::vector<TimeSpan> parts = {{from_ns, EndAt(end_ns)}};
  for (auto pause =
           std::ranges::upper_bound(pauses_, begin_ns, {}, &Pause::kept_ns);
       pause != pauses_.end() && pause->kept_ns < end_ns; ++pause) {
    const std::uint64_t until_ns = parts.back().until_ns;
    parts.back().until_ns = pause->real.from_ns;
    parts.push_back({pause->real.until_ns, until_ns});
  }
  return parts;
}

}  // namespace countrace::rmap
