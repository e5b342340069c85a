#include "rmap/over_time/phases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "rmap/dispatch/interval_counts.h"

namespace countrace::rmap {
namespace {

// Running median of five; at the ends, of the first or last five.
std::vector<double> WithoutSpikes(const std::vector<double>& values) {
  constexpr std::size_t kWindow = 5;
  if (values.size() < kWindow) return values;
  std::vector<double> smooth;
  smooth.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t first = std::min(
        i - std::min<std::size_t>(i, kWindow / 2), values.size() - kWindow);
    std::array<double, kWindow> around{};
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), kWindow,
                around.begin());
    const auto middle = around.begin() + kWindow / 2;
    std::nth_element(around.begin(), middle, around.end());
    smooth.push_back(*middle);
  }
  return smooth;
}

// The scale of a feature; 0: constant, so it is not used. `smooth`: without
// spikes.
double ScaleOf(const std::vector<double>& values,
               const std::vector<double>& smooth) {
  const auto [least, most] = std::minmax_element(smooth.begin(), smooth.end());
  const double range = *most - *least;
  if (range <= 0) return 0;
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i) {
    steps.push_back(std::abs(values[i] - values[i - 1]));
  }
  double noise = 0;
  if (!steps.empty()) {
    std::sort(steps.begin(), steps.end());
    // Without the largest tenth of the steps, which come from phases and
    // spikes.
    steps.resize(std::max<std::size_t>(1, steps.size() * 9 / 10));
    double sum = 0;
    for (const double step : steps) sum += step;
    // In a normal distribution the mean of |x - y| below its 90th percentile is
    // 0.657 sqrt(2) sigma.
    noise = sum / static_cast<double>(steps.size()) / (0.657 * std::sqrt(2.0));
  }
  return std::max({noise, 0.05 * range,
                   0.01 * std::max(std::abs(*least), std::abs(*most))});
}

class Segmentation {
 public:
  explicit Segmentation(const std::vector<Feature>& features) {
    const std::size_t intervals = features.front().values.size();
    for (const Feature& feature : features) {
      const std::vector<double> smooth = WithoutSpikes(feature.values);
      const double scale = ScaleOf(feature.values, smooth);
      if (scale <= 0) continue;
      // Prefix sums of the scaled values.
      std::vector<double> sums = {0};
      for (const double value : smooth) {
        sums.push_back(sums.back() + value / scale);
      }
      sums_.push_back(std::move(sums));
    }
    penalty_ =
        6.0 * static_cast<double>(sums_.size()) *
        std::log(static_cast<double>(std::max<std::size_t>(intervals, 2)));
  }

  // Begins of all phases except the first, in any order.
  std::vector<std::size_t> Cuts(std::size_t intervals) const {
    std::vector<std::size_t> cuts;
    std::vector<std::pair<std::size_t, std::size_t>> parts = {{0, intervals}};
    while (!parts.empty()) {
      const auto [begin, end] = parts.back();
      parts.pop_back();
      if (const auto cut = BestCut(begin, end)) {
        cuts.push_back(*cut);
        parts.emplace_back(begin, *cut);
        parts.emplace_back(*cut, end);
      }
    }
    return cuts;
  }

 private:
  std::optional<std::size_t> BestCut(std::size_t begin, std::size_t end) const {
    std::optional<std::size_t> best;
    double most = penalty_;
    for (std::size_t at = begin + kMinPhaseIntervals;
         at + kMinPhaseIntervals <= end; ++at) {
      const double gain = Gain(begin, at, end);
      if (gain <= most) continue;
      most = gain;
      best = at;
    }
    return best;
  }

  // The decrease of the sum of squares by a cut, from the difference of the
  // means.
  double Gain(std::size_t begin, std::size_t at, std::size_t end) const {
    const auto left = static_cast<double>(at - begin);
    const auto right = static_cast<double>(end - at);
    double gain = 0;
    for (const std::vector<double>& sums : sums_) {
      const double difference =
          (sums[at] - sums[begin]) / left - (sums[end] - sums[at]) / right;
      gain += difference * difference * left * right / (left + right);
    }
    return gain;
  }

  std::vector<std::vector<double>> sums_;
  double penalty_ = 0;
};

}  // namespace

std::vector<Feature> FeaturesOf(const TimeSeries& series) {
  std::vector<Feature> features;
  const auto add = [&](std::string name, bool share, auto value_of) {
    Feature feature{std::move(name), share, {}};
    for (std::size_t i = 0; i < series.size(); ++i) {
      feature.values.push_back(value_of(i));
    }
    features.push_back(std::move(feature));
  };
  const auto of_cpus = [&](std::size_t i, std::uint64_t ns) {
    const std::uint64_t total_ns = series.TotalTime(i);
    return total_ns == 0
               ? 0.0
               : static_cast<double>(ns) / static_cast<double>(total_ns);
  };
  const auto per_second = [&](std::size_t i, std::uint64_t count) {
    const std::uint64_t ns = series.EndOf(i) - series.BeginOf(i);
    return ns == 0 ? 0.0
                   : static_cast<double>(count) * 1e9 / static_cast<double>(ns);
  };
  static constexpr struct {
    const char* name;
    Account account;
  } kShares[] = {{"processes", Account::kProcesses},
                 {"idle", Account::kIdle},
                 {"interrupts", Account::kInterrupts},
                 {"outside", Account::kOutside},
                 {"unattributed", Account::kUnattributed}};
  if (series.has_kernel_records) {
    for (const auto& share : kShares) {
      add(share.name, true, [&](std::size_t i) {
        return of_cpus(i, series.Time(i, share.account));
      });
    }
  }
  const std::vector<CounterKind> kinds = CounterKinds(series.events);
  for (std::size_t event = 0; event < series.events.size(); ++event) {
    if (kinds[event] == CounterKind::kClock ||
        kinds[event] == CounterKind::kRunTime) {
      continue;
    }
    add(series.events[event], false, [&](std::size_t i) {
      return per_second(i, series.TotalCount(i, event));
    });
  }
  if (series.has_selected) {
    add("selected", true,
        [&](std::size_t i) { return of_cpus(i, series.SelectedTime(i)); });
  }
  if (series.has_calls) {
    add("calls", false,
        [&](std::size_t i) { return per_second(i, series.Calls(i).calls); });
  }
  return features;
}

std::vector<Phase> FindPhases(const std::vector<Feature>& features) {
  std::vector<Phase> phases;
  if (features.empty() || features.front().values.empty()) return phases;
  const std::size_t intervals = features.front().values.size();
  std::vector<std::size_t> begins = Segmentation(features).Cuts(intervals);
  begins.push_back(0);
  std::sort(begins.begin(), begins.end());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    Phase phase{
        begins[i], i + 1 < begins.size() ? begins[i + 1] : intervals, {}, {}};
    for (const Feature& feature : features) {
      double sum = 0;
      for (std::size_t at = phase.begin; at < phase.end; ++at) {
        sum += feature.values[at];
      }
      phase.means.push_back(sum / static_cast<double>(phase.end - phase.begin));
    }
    phases.push_back(std::move(phase));
  }
  for (std::size_t i = 1; i < phases.size(); ++i) {
    std::vector<std::pair<double, std::size_t>> changes;
    for (std::size_t f = 0; f < features.size(); ++f) {
      const double scale =
          ScaleOf(features[f].values, WithoutSpikes(features[f].values));
      if (scale <= 0) continue;
      const double change =
          std::abs(phases[i].means[f] - phases[i - 1].means[f]) / scale;
      if (change > 1) changes.emplace_back(-change, f);
    }
    std::sort(changes.begin(), changes.end());
    for (const auto& [change, f] : changes) phases[i].changed.push_back(f);
  }
  return phases;
}

}  // namespace countrace::rmap
