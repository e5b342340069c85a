#include "rmap/samples/rows/period_comparison.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "logformat/sample_points.h"
#include "rmap/result/chi_squared.h"

namespace countrace::rmap {
namespace {

constexpr double kLeastExpected = 5;

// Numbers of places: a function, and the one that called it.
using Call = std::pair<std::uint32_t, std::uint32_t>;
// In the order of their names: numbers differ from range to range.
struct ByName {
  bool operator()(const Call& a, const Call& b) const {
    const FramePlaces& of = *places;
    return std::tie(of[a.first], of[a.second], a) <
           std::tie(of[b.first], of[b.second], b);
  }
  const FramePlaces* places;
};
using Calls = std::map<Call, HitsOfPeriods, ByName>;

struct Part {
  std::string name;
  HitsOfPeriods hits;
};

void Add(const HitsOfPeriods& more, HitsOfPeriods& sum) {
  sum.hits[0] += more.hits[0];
  sum.hits[1] += more.hits[1];
}

std::uint64_t Sum(const HitsOfPeriods& of) { return of.hits[0] + of.hits[1]; }

// The innermost frame that is not the kernel's; without one the innermost.
std::uint32_t ProgramFrame(const Samples& samples, std::uint32_t frame) {
  for (std::uint32_t at = frame; at != 0; at = samples.frames[at].parent) {
    if (samples.files[samples.frames[at].file].path != logformat::kKernelCode) {
      return at;
    }
  }
  return frame;
}

Call CallOf(const Samples& samples, std::uint32_t innermost,
            FramePlaces& places) {
  const std::uint32_t frame = ProgramFrame(samples, innermost);
  const std::vector<std::uint32_t> own = places.Of(frame);
  if (own.size() > 1) return {own[0], own[1]};
  if (frame == 0) return {own[0], own[0]};
  return {own[0], places.Of(samples.frames[frame].parent)[0]};
}

// `least`: hits that a part needs.
std::vector<Part> PartsOf(const Calls& calls, double least,
                          const FramePlaces& places) {
  const auto enough = [least](const HitsOfPeriods& of) {
    return static_cast<double>(Sum(of)) >= least;
  };
  std::vector<Part> parts;
  Part others{"other functions", {}};
  for (auto call = calls.begin(); call != calls.end();) {
    const std::uint32_t function = call->first.first;
    const std::string& name = places[function].function;
    Part rest{name, {}};
    for (; call != calls.end() && call->first.first == function; ++call) {
      if (enough(call->second)) {
        parts.push_back(
            {name + ", called by " + places[call->first.second].function,
             call->second});
      } else {
        Add(call->second, rest.hits);
      }
    }
    if (enough(rest.hits)) {
      parts.push_back(std::move(rest));
    } else {
      Add(rest.hits, others.hits);
    }
  }
  if (enough(others.hits)) {
    parts.push_back(std::move(others));
  } else if (!parts.empty()) {
    Add(others.hits, parts.back().hits);
  }
  return parts;
}

}  // namespace

std::size_t TestHomogeneity(const std::vector<HitsOfPeriods>& parts,
                            PeriodComparison& out) {
  HitsOfPeriods all;
  for (const HitsOfPeriods& part : parts) Add(part, all);
  std::size_t most = 0;
  double most_of_sum = -1;
  out.chi_squared = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    double term = 0;
    for (const int period : {0, 1}) {
      const double expected = static_cast<double>(Sum(parts[i])) *
                              static_cast<double>(all.hits[period]) /
                              static_cast<double>(Sum(all));
      const double off = static_cast<double>(parts[i].hits[period]) - expected;
      term += off * off / expected;
    }
    out.chi_squared += term;
    if (term > most_of_sum) {
      most = i;
      most_of_sum = term;
    }
  }
  out.degrees_of_freedom = static_cast<std::uint32_t>(parts.size() - 1);
  if (out.degrees_of_freedom > 0) {
    out.p = ChiSquaredTail(out.chi_squared, out.degrees_of_freedom);
  }
  return most;
}

std::vector<PeriodComparison> ComparePeriods(const Samples& samples,
                                             FramePlaces& places,
                                             const std::vector<bool>& chosen) {
  std::vector<PeriodComparison> comparisons;
  std::map<std::uint32_t, Calls> events;
  for (std::uint32_t i = 0; i < samples.events.size(); ++i) {
    if (samples.events[i].periods == 2) {
      events.try_emplace(i, ByName{&places});
    }
  }
  if (events.empty()) return comparisons;
  for (const SampleSum& sum : samples.sums) {
    const auto event = events.find(sum.event);
    if (event == events.end()) continue;
    if (!chosen.empty() && !chosen[sum.context]) continue;
    Add({{sum.hits - sum.second_hits, sum.second_hits}},
        event->second[CallOf(samples, sum.frame, places)]);
  }
  for (const auto& [event, calls] : events) {
    PeriodComparison one;
    one.event = event;
    HitsOfPeriods all;
    for (const auto& [call, hits] : calls) Add(hits, all);
    std::copy(std::begin(all.hits), std::end(all.hits), one.hits);
    const std::uint64_t fewer = std::min(all.hits[0], all.hits[1]);
    if (fewer > 0) {
      const std::vector<Part> parts =
          PartsOf(calls,
                  kLeastExpected * static_cast<double>(Sum(all)) /
                      static_cast<double>(fewer),
                  places);
      std::vector<HitsOfPeriods> hits;
      for (const Part& part : parts) hits.push_back(part.hits);
      if (parts.size() > 1) {
        const Part& most = parts[TestHomogeneity(hits, one)];
        one.most = most.name;
        for (const int period : {0, 1}) {
          one.share[period] = static_cast<double>(most.hits.hits[period]) /
                              static_cast<double>(all.hits[period]);
        }
      }
    }
    comparisons.push_back(std::move(one));
  }
  return comparisons;
}

}  // namespace countrace::rmap
