#include "rmap/export/profile.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rmap/columns/report_columns.h"
#include "rmap/export/table_writer.h"
#include "rmap/result/limits.h"
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
  std::uint32_t NameOf(const std::string& name) {
    const auto [found, added] = names_.try_emplace(name, NextPlace());
    if (added) places_.push_back({.lines = {{.function = name}}});
    return found->second;
  }
  std::uint32_t Add(ProfilePlace place) {
    places_.push_back(std::move(place));
    return NextPlace() - 1;
  }
  // `places`: innermost first.
  void Add(std::vector<std::uint32_t> places, ProfileLabels labels,
           std::uint64_t amount, std::uint64_t times) {
    // Readers add up amounts: no sum of them may be larger.
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    too_large_ = too_large_ || amount > kMost - all_.amount ||
                 times > kMost - all_.times;
    if (too_large_ || (amount == 0 && times == 0)) return;
    Sum& sum = sums_[{std::move(places), std::move(labels)}];
    for (Sum* one : {&sum, &all_}) {
      one->amount += amount;
      one->times += times;
    }
  }
  absl::Status MoveTo(Profile& profile) {
    if (too_large_) {
      return absl::OutOfRangeError(
          "The amounts of the profile add up to 2^63 or more, which no format "
          "holds");
    }
    for (const auto& [key, sum] : sums_) {
      profile.stacks.push_back({key.first, key.second,
                                static_cast<std::int64_t>(sum.amount),
                                static_cast<std::int64_t>(sum.times)});
    }
    profile.places = std::move(places_);
    for (ProfilePlace& place : profile.places) {
      for (ProfileLine& line : place.lines) {
        // A process whose names were lost. Readers name it otherwise.
        if (line.function.empty()) line.function = "?";
        profile.has_other_bytes |= !IsUtf8(line.function);
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Sum {
    std::uint64_t amount = 0, times = 0;
  };
  std::uint32_t NextPlace() const {
    return static_cast<std::uint32_t>(places_.size());
  }

  std::map<std::string, std::uint32_t> names_;
  std::vector<ProfilePlace> places_;
  std::map<std::pair<std::vector<std::uint32_t>, ProfileLabels>, Sum> sums_;
  Sum all_;
  bool too_large_ = false;
};

void AddSegments(const Report& report, const where::OwnerFilter& filter,
                 const std::string& weight, std::optional<std::size_t> event,
                 Builder& builder) {
  std::map<ProcessIndex, std::uint64_t> inside;
  for (const SegmentRow& row : report.segment_paths) {
    const Amount amount = AmountOf(row, weight, event);
    if (!amount || !filter.Has(row)) continue;
    std::vector<std::uint32_t> places;
    ProfileLabels labels;
    for (std::size_t i = row.path.size(); i-- > 0;) {
      const std::string& name = row.path[i];
      places.push_back(builder.NameOf(name));
      std::string& label =
          name.starts_with("syscall:") ? labels.system_call : labels.segment;
      if (label.empty() && labels.segment.empty()) label = name;
    }
    places.push_back(builder.NameOf(row.comm));
    inside[row.process] = AddBounded(inside[row.process], *amount);
    builder.Add(std::move(places), std::move(labels), *amount, row.calls);
  }
  if (!event && weight != kOnCpu) return;
  for (const ProcessRow& row : report.processes) {
    const Amount all = AmountOf(row, event);
    const std::uint64_t known = inside[row.index];
    if (!all || *all <= known || !filter.Has(row)) continue;
    builder.Add({builder.NameOf(row.comm)}, {}, *all - known, 0);
  }
}

// Places of the code of samples.
class SamplePlaces {
 public:
  SamplePlaces(const Samples& samples, Builder& builder)
      : samples_(samples),
        builder_(builder),
        functions_(samples, SampleBy::kFunction, &symbolizer_),
        lines_(samples, SampleBy::kLine, &symbolizer_) {
    functions_.Expect({});
  }

  std::vector<std::uint32_t> StackOf(std::uint32_t frame) {
    std::vector<std::uint32_t> places;
    for (; frame != 0; frame = samples_.frames[frame].parent) {
      places.push_back(PlaceOf(frame));
    }
    if (places.empty()) places.push_back(builder_.NameOf("[no stack]"));
    return places;
  }

 private:
  std::uint32_t PlaceOf(std::uint32_t number) {
    const StackFrame& frame = samples_.frames[number];
    const auto [known, added] =
        known_.try_emplace({frame.file, frame.address, frame.symbol}, 0);
    if (!added) return known->second;
    // Both tables have an entry for each name of the address.
    const std::vector<std::uint32_t>& functions = functions_.Of(number);
    const std::vector<std::uint32_t>& lines = lines_.Of(number);
    ProfilePlace place{
        .lines = {},
        .dso = functions_[functions.back()].dso,
        .build_id = samples_.files[frame.file].build_id,
        .address = frame.address,
    };
    for (std::size_t i = 0; i < functions.size(); ++i) {
      ProfileLine& line = place.lines.emplace_back();
      line.function = functions_[functions[i]].function;
      const CodePlace& at = lines_[lines[std::min(i, lines.size() - 1)]];
      if (at.source.starts_with('[')) continue;  // it has none
      line.source = at.source;
      line.line = at.line;
    }
    return known->second = builder_.Add(std::move(place));
  }

  const Samples& samples_;
  Builder& builder_;
  Symbolizer symbolizer_;
  CodePlaces functions_, lines_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>,
           std::uint32_t>
      known_;
};

void AddSamples(const Report& report, const where::OwnerFilter& filter,
                const logformat::TraceInfo& info, std::uint32_t event,
                Builder& builder) {
  const Samples& samples = *report.samples;
  SamplePlaces places(samples, builder);
  std::map<ProcessIndex, std::uint32_t> comms;
  for (const ProcessRow& row : report.processes) {
    comms[row.index] = builder.NameOf(row.comm);
  }
  std::map<ThreadIndex, std::string> threads;  // those that are wanted
  for (const ThreadRow& row : report.threads) {
    if (!filter.Has(row)) continue;
    threads[row.index] = row.comm + "/" + std::to_string(row.tid);
  }
  std::map<std::uint32_t, std::string> hooks;
  for (const auto& hook : info.hooks) hooks[hook.id] = hook.FullName();
  for (const SampleSum& sum : samples.sums) {
    const SampleContext& context = samples.contexts[sum.context];
    const auto thread = threads.find(context.thread);
    if (sum.event != event || thread == threads.end()) continue;
    std::vector<std::uint32_t> stack = places.StackOf(sum.frame);
    stack.push_back(comms[context.process]);
    builder.Add(
        std::move(stack),
        {hooks[context.segment], hooks[context.system_call], thread->second},
        sum.periods, sum.hits);
  }
}

}  // namespace

absl::StatusOr<Profile> ProfileOf(const Report& report,
                                  const logformat::TraceInfo& info,
                                  const std::string& weight,
                                  const where::OwnerGlobs& owners) {
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
                  .places = {},
                  .stacks = {}};
  Builder builder;
  const where::OwnerFilter filter(owners, report);
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
    AddSamples(report, filter, info,
               static_cast<std::uint32_t>(found - sampled.begin()), builder);
  } else if (!owners.thread.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--thread: `%s` is of segments, which have no thread; of samples",
        weight));
  } else {
    AddSegments(report, filter, weight, event, builder);
  }
  const absl::Status fits = builder.MoveTo(profile);
  if (!fits.ok()) return fits;
  return profile;
}

std::vector<std::string> FrameNames(const Profile& profile,
                                    const ProfileStack& stack) {
  std::vector<std::string> names;
  for (const std::uint32_t place : stack.places) {
    for (const ProfileLine& line : profile.places[place].lines) {
      names.push_back(line.function);
    }
  }
  std::reverse(names.begin(), names.end());
  return names;
}

}  // namespace countrace::rmap
