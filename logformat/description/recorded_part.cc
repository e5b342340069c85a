#include "logformat/description/recorded_part.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"

namespace countrace::logformat {

bool BeginsPart(const TriggerFiring& firing) {
  return firing.trigger.ends_with(kThenStart);
}

bool BoundsPart(const TriggerFiring& firing) {
  return BeginsPart(firing) || firing.trigger.ends_with(kThenPause) ||
         firing.trigger.ends_with(kThenResume);
}

namespace {

// False if a pause or resume changes nothing.
bool AddEdge(bool pause, std::uint64_t time_ns, std::vector<TimeSpan>& pauses) {
  if (time_ns == kNotReached) return false;
  const bool any = !pauses.empty();
  if (pause == (any && pauses.back().until_ns == kNotReached)) return false;
  if (!pause) {
    if (time_ns < pauses.back().from_ns) return false;
    pauses.back().until_ns = time_ns;
    if (time_ns == pauses.back().from_ns) pauses.pop_back();
  } else if (any && time_ns <= pauses.back().until_ns) {
    if (time_ns < pauses.back().until_ns) return false;
    pauses.back().until_ns = kNotReached;
  } else {
    if (pauses.size() >= kMostPauses) return false;
    pauses.push_back({time_ns, kNotReached});
  }
  return true;
}

}  // namespace

void AddFiring(TriggerFiring firing, TraceInfo& info) {
  const bool pause = firing.trigger.ends_with(kThenPause);
  if (pause || firing.trigger.ends_with(kThenResume)) {
    const auto same = [&firing](const TriggerFiring& other) {
      return other.trigger == firing.trigger;
    };
    constexpr std::size_t kMostTriggers = 512;  // the recorder writes fewer
    if (!AddEdge(pause, firing.time_ns, info.pauses) ||
        info.triggers.size() >= kMostTriggers ||
        std::ranges::any_of(info.triggers, same)) {
      return;
    }
  }
  info.triggers.push_back(std::move(firing));
}

std::vector<std::string> PauseTexts(const std::vector<TimeSpan>& pauses) {
  std::vector<std::string> texts;
  for (const TimeSpan& pause : pauses) {
    texts.push_back(absl::StrFormat("%d %d", pause.from_ns, pause.until_ns));
  }
  return texts;
}

bool ParsePauses(const std::vector<std::string>& texts,
                 std::vector<TimeSpan>& pauses) {
  for (const std::string& text : texts) {
    const char* const end = text.data() + text.size();
    TimeSpan pause;
    const auto from = std::from_chars(text.data(), end, pause.from_ns);
    if (from.ec != std::errc() || from.ptr == end ||
        std::from_chars(from.ptr + 1, end, pause.until_ns).ec != std::errc() ||
        pause.from_ns >= pause.until_ns ||
        (!pauses.empty() && pause.from_ns <= pauses.back().until_ns)) {
      return false;
    }
    pauses.push_back(pause);
  }
  // Other spellings could not be written back byte for byte.
  return PauseTexts(pauses) == texts;
}

std::vector<TimeSpan> PausesIn(const TraceInfo& info, std::uint64_t from_ns,
                               std::uint64_t until_ns) {
  std::vector<TimeSpan> pauses;
  for (const TimeSpan& pause : info.pauses) {
    const TimeSpan part{std::max(pause.from_ns, from_ns),
                        std::min(pause.until_ns, until_ns)};
    if (part.from_ns < part.until_ns) pauses.push_back(part);
  }
  return pauses;
}

const TimeSpan* PauseAt(const TraceInfo& info, std::uint64_t time_ns) {
  const auto pause =
      std::ranges::upper_bound(info.pauses, time_ns, {}, &TimeSpan::until_ns);
  return pause != info.pauses.end() && pause->from_ns <= time_ns ? &*pause
                                                                 : nullptr;
}

std::string PausesText(std::size_t pauses, std::uint64_t left_out_ns) {
  if (pauses == 0) return std::string();
  return absl::StrFormat(
      "left out: %s, together %s",
      pauses == 1 ? "1 pause" : absl::StrFormat("%d pauses", pauses),
      base::FormatNanoseconds(static_cast<double>(left_out_ns)));
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
