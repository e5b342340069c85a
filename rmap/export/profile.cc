#include "rmap/export/profile.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rmap/columns/report_columns.h"
#include "rmap/result/samples.h"
#include "rmap/samples/names/code_places.h"

namespace countrace::rmap {
namespace {

constexpr char kOnCpu[] = "on-cpu";

// Absent: the trace does not have it.
using Amount = std::optional<std::uint64_t>;

Amount ExclusiveOf(const std::optional<InclusiveExclusive>& time) {
  return time ? Amount(time->excl) : std::nullopt;
}

// The exclusive amount of a row.
Amount AmountOf(const SegmentRow& row, const std::string& weight,
                std::optional<std::size_t> event) {
  if (event) {
    if (*event >= row.counts.size() || !row.counts[*event]) return {};
    return row.counts[*event]->excl;
  }
  if (weight == "wall") return row.wall.excl;
  if (weight == kOnCpu) return ExclusiveOf(row.on_cpu);
  if (weight == "off-cpu") return ExclusiveOf(row.off_cpu);
  return ExclusiveOf(row.blocked);
}

Amount AmountOf(const ProcessRow& row, std::optional<std::size_t> event) {
  if (!event) return row.on_cpu_ns;
  return *event < row.counts.size() ? row.counts[*event] : std::nullopt;
}

std::optional<std::size_t> EventNamed(const Report& report,
                                      const std::string& name) {
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    if (report.events[i].name == name) return i;
  }
  return std::nullopt;
}

// Times that a row has, then events by name.
std::vector<std::string> WeightsOf(const Report& report) {
  std::vector<std::string> weights;
  if (std::ranges::any_of(report.processes, [](const ProcessRow& row) {
        return row.on_cpu_ns.has_value();
      })) {
    weights.emplace_back(kOnCpu);
  }
  for (const char* name : {"off-cpu", "wall", "blocked"}) {
    if (std::ranges::any_of(report.segment_paths, [&](const SegmentRow& row) {
          return AmountOf(row, name, std::nullopt).has_value();
        })) {
      weights.emplace_back(name);
    }
  }
  std::set<std::string> events;
  for (const auto& event : report.events) events.insert(event.name);
  for (const SampledEvent& event : report.samples->events) {
    events.insert(event.name);
  }
  weights.insert(weights.end(), events.begin(), events.end());
  return weights;
}

class Builder {
 public:
  void Add(std::vector<std::string> frames, std::uint64_t amount,
           std::uint64_t times) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    Sum& sum = sums_[std::move(frames)];
    too_large_ =
        too_large_ || amount > kMost - sum.amount || times > kMost - sum.times;
    if (too_large_) return;
    sum.amount += amount;
    sum.times += times;
  }
  absl::Status MoveTo(Profile& profile) {
    if (too_large_) {
      return absl::OutOfRangeError(
          "An amount of the profile is 2^63 or more, which no format holds");
    }
    for (const auto& [frames, sum] : sums_) {
      if (sum.amount == 0 && sum.times == 0) continue;
      profile.stacks.push_back({frames, static_cast<std::int64_t>(sum.amount),
                                static_cast<std::int64_t>(sum.times)});
    }
    return absl::OkStatus();
  }

 private:
  struct Sum {
    std::uint64_t amount = 0, times = 0;
  };
  std::map<std::vector<std::string>, Sum> sums_;
  bool too_large_ = false;
};

void AddSegments(const Report& report, const std::string& weight,
                 std::optional<std::size_t> event, Builder& builder) {
  std::map<ProcessIndex, std::uint64_t> inside;
  for (const SegmentRow& row : report.segment_paths) {
    const Amount amount = AmountOf(row, weight, event);
    if (!amount) continue;
    std::vector<std::string> frames = {row.comm};
    frames.insert(frames.end(), row.path.begin(), row.path.end());
    inside[row.process] += *amount;
    builder.Add(std::move(frames), *amount, row.calls);
  }
  if (!event && weight != kOnCpu) return;
  for (const ProcessRow& row : report.processes) {
    const Amount all = AmountOf(row, event);
    const std::uint64_t known = inside[row.index];
    if (all && *all > known) builder.Add({row.comm}, *all - known, 0);
  }
}

void AddSamples(const Report& report, std::uint32_t event, Builder& builder) {
  const Samples& samples = *report.samples;
  CodePlaces places(samples, SampleBy::kFunction);
  places.Expect({});
  std::map<ProcessIndex, std::string> comms;
  for (const ProcessRow& row : report.processes) comms[row.index] = row.comm;
  for (const SampleSum& sum : samples.sums) {
    if (sum.event != event) continue;
    std::vector<std::string> frames;  // innermost first
    for (std::uint32_t frame = sum.frame; frame != 0;
         frame = samples.frames[frame].parent) {
      for (const std::uint32_t place : places.Of(frame)) {
        frames.push_back(places[place].function);
      }
    }
    if (frames.empty()) frames = {"[no stack]"};
    frames.push_back(comms[samples.contexts[sum.context].process]);
    std::reverse(frames.begin(), frames.end());
    builder.Add(std::move(frames), sum.periods, sum.hits);
  }
}

}  // namespace

absl::StatusOr<Profile> ProfileOf(const Report& report,
                                  const std::string& weight) {
  const std::vector<std::string> weights = WeightsOf(report);
  if (std::find(weights.begin(), weights.end(), weight) == weights.end()) {
    return absl::NotFoundError(
        absl::StrFormat("The trace has no weight `%s`; it has %s", weight,
                        absl::StrJoin(weights, ", ")));
  }
  Profile profile{.weight = weight,
                  .unit = "nanoseconds",
                  .times = "calls",
                  .begin_ns = report.begin_ns,
                  .end_ns = report.end_ns,
                  .stacks = {}};
  Builder builder;
  const auto& sampled = report.samples->events;
  const auto found =
      std::find_if(sampled.begin(), sampled.end(),
                   [&](const auto& event) { return event.name == weight; });
  const auto event = EventNamed(report, weight);
  const bool of_samples = found != sampled.end();
  if ((of_samples && !found->off_cpu) || event) {
    profile.unit =
        UnitOfEvent(weight) == Unit::kNanoseconds ? "nanoseconds" : "count";
  }
  if (of_samples) {
    profile.times = "samples";
    AddSamples(report, static_cast<std::uint32_t>(found - sampled.begin()),
               builder);
  } else {
    AddSegments(report, weight, event, builder);
  }
  const absl::Status fits = builder.MoveTo(profile);
  if (!fits.ok()) return fits;
  return profile;
}

}  // namespace countrace::rmap
