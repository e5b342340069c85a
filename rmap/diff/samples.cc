#include "rmap/diff/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rmap/state/call_paths.h"

namespace countrace::rmap::diff {

namespace {

void Finish(std::size_t runs, Sample& sample) {
  sample.below /= static_cast<double>(runs);
  sample.above /= static_cast<double>(runs);
  sample.of_turns.Divide(static_cast<double>(runs));
}

void AddQuantity(const Quantity& quantity, double divisor, Sample& sample) {
  sample.values.push_back(quantity.Signed() / divisor);
  sample.below += quantity.below / divisor;
  sample.above += quantity.above / divisor;
  SamplingError error = quantity.error;
  error.Divide(divisor);
  sample.of_turns.Add(error);
}

const Quantity& PartOf(const Amount& amount, Part part) {
  return part == Part::kSelf ? amount.self : amount.incl;
}

// Widens the last value of `sample`, an amount per call: more calls make it
// smaller, fewer larger.
void AddDoubtOfCalls(const Quantity& calls, Sample& sample) {
  const double value = std::fabs(sample.values.back());
  const auto counted = static_cast<double>(calls.value);
  if (std::isinf(calls.above)) {
    sample.below = calls.above;
  } else {
    sample.below += value * calls.above / (counted + calls.above);
  }
  if (calls.below < counted) {
    sample.above += value * calls.below / (counted - calls.below);
  } else {
    sample.above = std::numeric_limits<double>::infinity();
  }
}

}  // namespace

std::optional<Sample> SumsOf(const std::vector<RowOfRun>& runs,
                             std::size_t index, Part part) {
  Sample sample;
  for (const RowOfRun& run : runs) {
    if (!run.amounts[index]) return std::nullopt;
    AddQuantity(PartOf(*run.amounts[index], part), 1, sample);
  }
  Finish(runs.size(), sample);
  return sample;
}

std::optional<Sample> PerCallOf(const std::vector<RowOfRun>& runs,
                                std::size_t index, Part part) {
  Sample sample;
  sample.resolution = 0;
  for (const RowOfRun& run : runs) {
    if (!run.amounts[index] || run.calls.value == 0) return std::nullopt;
    const auto calls = static_cast<double>(run.calls.value);
    AddQuantity(PartOf(*run.amounts[index], part), calls, sample);
    AddDoubtOfCalls(run.calls, sample);
    sample.resolution = std::max(sample.resolution, 1 / calls);
  }
  Finish(runs.size(), sample);
  return sample;
}

Sample CallsOf(const std::vector<RowOfRun>& runs) {
  Sample sample;
  for (const RowOfRun& run : runs) {
    AddQuantity(run.calls, 1, sample);
    sample.values.back() = static_cast<double>(run.calls.value);
  }
  Finish(runs.size(), sample);
  return sample;
}

std::optional<Sample> TotalsOf(const std::vector<Report>& reports,
                               const Metric& metric) {
  Sample sample;
  for (const Report& report : reports) {
    const auto amount = ProcessTotal(report, metric);
    if (!amount) return std::nullopt;
    AddQuantity(amount->self, 1, sample);
  }
  Finish(reports.size(), sample);
  return sample;
}

Sample ElapsedOf(const std::vector<Report>& reports) {
  Sample sample;
  for (const Report& report : reports) {
    sample.values.push_back(static_cast<double>(report.elapsed_ns()));
  }
  return sample;
}

Quality QualityOf(const std::vector<RowOfRun>& runs, std::size_t index) {
  Quality quality = Quality::kExact;
  for (const RowOfRun& run : runs) {
    if (run.amounts[index]) {
      quality = Worse(quality, run.amounts[index]->quality);
    }
  }
  return quality;
}

}  // namespace countrace::rmap::diff
