#include "rmap/result/bounds.h"

#include <algorithm>
#include <iterator>

namespace countrace::rmap {
namespace {

constexpr const char* kNames[] = {
    "on_cpu_ns",       "dispatches",     "migrations",     "wait_ns",
    "throttled_ns",    "blocked_ns",     "threads",        "busy_ns",
    "idle_ns",         "interrupts_ns",  "outside_ns",     "calls",
    "wall_ns.incl",    "wall_ns.excl",   "wall_ns.mean",   "wall_ns.stddev",
    "wall_ns.min",     "wall_ns.max",    "wall_ns.p50",    "wall_ns.p90",
    "wall_ns.p99",     "on_cpu_ns.incl", "on_cpu_ns.excl", "off_cpu_ns.incl",
    "off_cpu_ns.excl", "wait_ns.incl",   "wait_ns.excl",   "blocked_ns.incl",
    "blocked_ns.excl", "times",          "longest_ns",     "opens",
    "failed_opens",    "reads",          "writes",         "bytes.read",
    "bytes.written",   "up_ns"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Number::kCounts));

constexpr const char* kParts[] = {"", ".incl", ".excl"};
constexpr std::string_view kCountsPrefix = "counts.";

}  // namespace

const char* QualityName(Quality quality) {
  switch (quality) {
    case Quality::kExact:
      return "exact";
    case Quality::kScaled:
      return "scaled";
    case Quality::kBounded:
      return "bounded";
    case Quality::kInferred:
      return "inferred";
  }
  return "unknown";
}

Quality Qualities::Worst() const {
  Quality worst = Quality::kExact;
  for (const Quality quality :
       {Quality::kScaled, Quality::kBounded, Quality::kInferred}) {
    if (Has(quality)) worst = Worse(worst, quality);
  }
  return worst;
}

std::vector<std::string> Qualities::Names() const {
  std::vector<std::string> names;
  for (const Quality quality :
       {Quality::kScaled, Quality::kBounded, Quality::kInferred}) {
    if (Has(quality)) names.emplace_back(QualityName(quality));
  }
  return names;
}

std::string NumberName(const EventColumns& events, Number number) {
  const auto index = static_cast<std::size_t>(number);
  if (index < std::size(kNames)) return kNames[index];
  const std::size_t event = (index - std::size(kNames)) / 3;
  return std::string(kCountsPrefix) + events.at(event).name +
         kParts[(index - std::size(kNames)) % 3];
}

std::optional<Number> NumberNamed(const EventColumns& events,
                                  std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<Number>(i);
  }
  if (!name.starts_with(kCountsPrefix)) return std::nullopt;
  name.remove_prefix(kCountsPrefix.size());
  for (std::size_t event = 0; event < events.size(); ++event) {
    if (!name.starts_with(events[event].name)) continue;
    const std::string_view part = name.substr(events[event].name.size());
    for (std::size_t i = 0; i < std::size(kParts); ++i) {
      if (part == kParts[i]) {
        return CountNumber(event, static_cast<CountPart>(i));
      }
    }
  }
  return std::nullopt;
}

void RowBounds::Set(Number number, std::uint64_t value, Bounds bounds) {
  if (bounds.lo == value && bounds.hi == value) return;
  std::vector<Entry>& entries = entries_.Write();
  const auto at = std::lower_bound(
      entries.begin(), entries.end(), number,
      [](const Entry& entry, Number key) { return entry.first < key; });
  if (at != entries.end() && at->first == number) {
    at->second = bounds;
  } else {
    entries.insert(at, {number, bounds});
  }
}

std::optional<Bounds> RowBounds::Of(Number number) const {
  for (const Entry& entry : entries()) {
    if (entry.first == number) return entry.second;
  }
  return std::nullopt;
}

}  // namespace countrace::rmap
