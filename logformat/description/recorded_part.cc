#include "logformat/description/recorded_part.h"

#include <algorithm>

#include "base/text/quantity_format.h"

namespace countrace::logformat {

bool BeginsPart(const TriggerFiring& firing) {
  return firing.trigger.ends_with(kThenStart);
}

std::uint64_t PartBeginNs(const TraceInfo& info) {
  std::uint64_t begin_ns = 0;
  for (const TriggerFiring& firing : info.triggers) {
    if (!BeginsPart(firing)) continue;
    begin_ns =
        begin_ns == 0 ? firing.time_ns : std::min(begin_ns, firing.time_ns);
  }
  return begin_ns;
}

std::uint64_t PartBeginNs(const TraceInfo& info, std::uint64_t end_ns) {
  const std::uint64_t begin_ns = PartBeginNs(info);
  return begin_ns == kNotReached ? std::max(end_ns, info.begin_ns) + 1
                                 : begin_ns;
}

void SettlePart(std::vector<TriggerFiring>& triggers) {
  const auto waits = [](const TriggerFiring& firing) {
    return BeginsPart(firing) && firing.time_ns == kNotReached;
  };
  const bool begun =
      std::ranges::any_of(triggers, [&](const TriggerFiring& firing) {
        return BeginsPart(firing) && !waits(firing);
      });
  if (begun) std::erase_if(triggers, waits);
}

std::string AtText(const TriggerFiring& firing) {
  return firing.time_ns == kNotReached
             ? std::string()
             : ", at @" + base::FormatSeconds(firing.time_ns);
}

}  // namespace countrace::logformat
