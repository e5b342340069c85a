#include "viewer/offline/page_samples.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "logformat/sample_points.h"
#include "rmap/result/samples.h"
#include "rmap/samples/rows/sample_naming.h"
#include "rmap/samples/sums/sample_sums.h"

namespace countrace::viewer {

std::string RefusedSamples(std::uint64_t samples, std::size_t most) {
  rmap::NamedSamples none;
  none.refusal = absl::StrFormat(
      "This file has no functions, as the trace has more samples than a page "
      "holds: samples=%d, most=%d. Export a part of the trace (--from, "
      "--until), or open it with `countrace view`",
      samples, most);
  none.samples.frames.emplace_back();
  none.samples.files.push_back({logformat::kUnknownCode, ""});
  none.places.emplace_back();
  none.chains.push_back({0});
  none.chain_of_frame.push_back(0);
  return rmap::EncodeNamedSamples(none);
}

absl::StatusOr<std::string> SamplesForPage(
    logformat::TraceReader& reader, const rmap::TableRange& range,
    const logformat::ProgressCallback& progress, std::size_t most) {
  const logformat::TraceInfo& info = reader.info();
  if (std::none_of(info.hooks.begin(), info.hooks.end(),
                   [](const logformat::HookInfo& hook) {
                     return logformat::SamplePointOf(hook) ==
                            logformat::SamplePoint::kSample;
                   })) {
    return rmap::EncodeNamedSamples(
        rmap::NameSamples(rmap::SampleSums(info).Take(), info));
  }
  const auto report = rmap::Reconstruct(reader, {.rows = {.samples = true},
                                                 .range = range,
                                                 .most_timed_samples = most,
                                                 .progress = progress});
  if (!report.ok()) return report.status();
  const rmap::Samples& samples = *report->samples;
  std::uint64_t hits = 0;
  for (const rmap::SampleSum& sum : samples.sums) hits += sum.hits;
  if (hits > most) return RefusedSamples(hits, most);
  return rmap::EncodeNamedSamples(rmap::NameSamples(samples, info));
}

}  // namespace countrace::viewer
