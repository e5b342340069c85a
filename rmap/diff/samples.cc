#include "rmap/diff/samples.h"

#include <algorithm>
#include <cmath>

#include "rmap/state/call_paths.h"

namespace countrace::rmap::diff {

namespace {

// The only known spread is that of the calls' inclusive wall time. On-CPU,
// off-CPU and exclusive times are parts of it; the spread of a part is assumed
// to be no larger.
std::optional<double> ErrorOfCalls(const RowOfRun& run, const Metric& metric) {
  if (!metric.is_time || metric.kind == MetricKind::kEvent) return std::nullopt;
  if (!run.occurs) return 0;
  if (run.calls < 2) return std::nullopt;
  return std::sqrt(run.squared_deviations);
}

void Finish(std::size_t runs, Sample& sample) {
  sample.below /= static_cast<double>(runs);
  sample.above /= static_cast<double>(runs);
  sample.of_turns.Divide(static_cast<double>(runs));
}

void AddAmount(const Amount& amount, Part part, double divisor,
               Sample& sample) {
  const auto value = part == Part::kSelf ? amount.self : amount.incl;
  sample.values.push_back(Value(value) / divisor);
  sample.below += amount.below / divisor;
  sample.above += amount.above / divisor;
  SamplingError error =
      part == Part::kSelf ? amount.self_error : amount.incl_error;
  error.Divide(divisor);
  sample.of_turns.Add(error);
}

}  // namespace

std::optional<Sample> SumsOf(const std::vector<RowOfRun>& runs,
                             const Metric& metric, std::size_t index,
                             Part part) {
  Sample sample;
  for (const RowOfRun& run : runs) {
    if (!run.amounts[index]) return std::nullopt;
    AddAmount(*run.amounts[index], part, 1, sample);
  }
  if (runs.size() == 1) {
    sample.error_of_calls = ErrorOfCalls(runs[0], metric);
    sample.calls = static_cast<double>(runs[0].calls);
  }
  Finish(runs.size(), sample);
  return sample;
}

std::optional<Sample> PerCallOf(const std::vector<RowOfRun>& runs,
                                const Metric& metric, std::size_t index,
                                Part part) {
  Sample sample;
  sample.resolution = 0;
  for (const RowOfRun& run : runs) {
    if (!run.amounts[index] || run.calls == 0) return std::nullopt;
    const auto calls = static_cast<double>(run.calls);
    AddAmount(*run.amounts[index], part, calls, sample);
    sample.resolution = std::max(sample.resolution, 1 / calls);
    // With the missing calls, the time per call is smaller.
    if (run.calls_above > 0) {
      sample.below += std::fabs(sample.values.back()) * run.calls_above /
                      (calls + run.calls_above);
      if (std::isinf(run.calls_above)) sample.below = run.calls_above;
    }
  }
  if (runs.size() == 1) {
    sample.error_of_calls = ErrorOfCalls(runs[0], metric);
    sample.calls = static_cast<double>(runs[0].calls);
    if (sample.error_of_calls) *sample.error_of_calls /= sample.calls;
  }
  Finish(runs.size(), sample);
  return sample;
}

Sample CallsOf(const std::vector<RowOfRun>& runs) {
  Sample sample;
  for (const RowOfRun& run : runs) {
    sample.values.push_back(static_cast<double>(run.calls));
    sample.above += run.calls_above;
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
    AddAmount(*amount, Part::kSelf, 1, sample);
  }
  Finish(reports.size(), sample);
  return sample;
}

Sample ElapsedOf(const std::vector<Report>& reports) {
  Sample sample;
  for (const Report& report : reports) {
    sample.values.push_back(
        static_cast<double>(report.end_ns - report.begin_ns));
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
