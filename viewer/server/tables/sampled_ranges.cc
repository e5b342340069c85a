#include "viewer/server/tables/sampled_ranges.h"

#include <algorithm>
#include <utility>

#include "logformat/read/trace_reader.h"
#include "logformat/sample_points.h"
#include "rmap/samples/rows/function_rows.h"
#include "viewer/server/tables/trace_report.h"

namespace countrace::viewer {
namespace {

// The whole trace, the range that is selected, and those before it.
constexpr std::size_t kMostRanges = 4;
constexpr std::size_t kMostTables = 8;       // of choices in a range
constexpr std::size_t kMostTimed = 1 << 18;  // samples with their times

bool HasSamples(const logformat::TraceInfo& info) {
  return std::any_of(info.hooks.begin(), info.hooks.end(),
                     [](const logformat::HookInfo& hook) {
                       return logformat::SamplePointOf(hook) ==
                              logformat::SamplePoint::kSample;
                     });
}

absl::StatusOr<std::shared_ptr<const SampledRange>> Read(
    const SampledRangeKey& key, logformat::ProgressCallback progress) {
  const auto reader = logformat::TraceReader::Open(key.trace_path);
  if (!reader.ok()) return reader.status();
  auto range = std::make_shared<SampledRange>();
  range->info = (*reader)->info();
  if (!HasSamples(range->info)) return range;  // without reading the trace
  auto report = rmap::Reconstruct(**reader, {.rows = {.samples = true},
                                             .range = key.range,
                                             .most_timed_samples = kMostTimed,
                                             .progress = std::move(progress)});
  if (!report.ok()) return report.status();
  range->samples = *std::move(report->samples);
  return range;
}

}  // namespace

SampledRanges::Kept* SampledRanges::Find(const SampledRangeKey& key) {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(),
                   [&](const Kept& kept) { return kept.key == key; });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, found + 1);
  return &kept_.front();
}

absl::StatusOr<std::shared_ptr<const SampledRange>> SampledRanges::SamplesOf(
    const SampledRangeKey& key, logformat::ProgressCallback progress) {
  const auto kept = [&]() -> std::shared_ptr<const SampledRange> {
    const std::lock_guard lock(mutex_);
    const Kept* const found = Find(key);
    return found == nullptr ? nullptr : found->range;
  };
  if (auto range = kept()) return range;
  const std::lock_guard making(MakingReport());
  if (auto range = kept()) return range;  // another request has read it
  auto read = Read(key, std::move(progress));
  if (!read.ok()) return read.status();
  const std::lock_guard lock(mutex_);
  kept_.insert(kept_.begin(), {key, *read, {}});
  if (kept_.size() > kMostRanges) kept_.pop_back();
  return *read;
}

std::shared_ptr<const NamedFunctions> SampledRanges::FunctionsOf(
    const SampledRangeKey& key,
    const std::shared_ptr<const SampledRange>& range,
    const ChosenSamples& chosen) {
  {
    const std::lock_guard lock(mutex_);
    if (const Kept* const found = Find(key)) {
      const auto table = found->functions.find(chosen);
      if (table != found->functions.end()) return table->second;
    }
  }
  rmap::CodePlaces places(range->samples, rmap::SampleBy::kFunction);
  places.Expect(ContextsOf(range->samples, chosen));
  auto functions = std::make_shared<const NamedFunctions>(NameFunctions(
      range->samples, rmap::ContextTexts(range->samples, range->info), places,
      chosen));
  const std::lock_guard lock(mutex_);
  if (Kept* const found = Find(key)) {
    if (found->functions.size() >= kMostTables) found->functions.clear();
    found->functions.emplace(chosen, functions);
  }
  return functions;
}

}  // namespace countrace::viewer
