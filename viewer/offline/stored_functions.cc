#include "viewer/offline/stored_functions.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "rmap/samples/sums/sampled_processes.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/server/tables/function_table.h"
#include "viewer/server/wire/api_answer.h"

namespace countrace::viewer {
namespace {

// What rmap::TakeDispatches() takes from the report of the range.
void TakeTotals(const TimelineIndex& index, const ReportedTimes& times,
                rmap::Samples& samples) {
  TimeRange range = {times.from_ns - index.header().begin_ns,
                     times.until_ns - index.header().begin_ns};
  range.end_ns = std::min(range.end_ns, index.header().duration_ns);
  const RangeTotals totals =
      TotalsIn(index, range, {.segments = false, .hooks = false});
  samples.interrupts_ns = totals.interrupts_ns;
  samples.cpu_ns = totals.cpu_ns;
  for (const ProcessTotals& one : totals.processes) {
    if (one.process >= index.processes().size() ||
        index.IsUnsure(index.processes()[one.process].unsure, range.begin_ns,
                       range.end_ns)) {
      samples.processes.clear();
      return;
    }
    if (one.run.on_cpu_ns == 0) continue;
    samples.processes.push_back(
        {rmap::ProcessIndex{one.process}, one.run.on_cpu_ns});
  }
  rmap::DropUnlessOfAll(samples);
}

}  // namespace

HttpResponse AnswerStoredFunctions(const TimelineIndex& index,
                                   const rmap::NamedSamples& named,
                                   ApiQuery& query) {
  const auto page = ParseFunctionsPage(query);
  if (!page) return Refuse(400, query.error());
  const auto range = ReportedRange(index, query, "from", "to");
  if (!range) return Refuse(400, query.error());
  const auto chosen = ParseChosenSamples(query);
  if (!chosen) return Refuse(400, query.error());
  if (!named.refusal.empty()) return Refuse(501, named.refusal);
  rmap::Samples samples =
      rmap::SamplesOfRange(named, range->from_ns, range->until_ns);
  if (samples.processes.empty() && samples.of_part) {
    TakeTotals(index, *range, samples);
  }
  std::optional<NamedFunctions> functions;
  if (!samples.events.empty()) {
    rmap::NamedPlaces places(named);
    functions = NameFunctions(samples, named.in, places, *chosen);
  }
  return AnswerFunctionsPage(samples, *chosen,
                             functions ? &*functions : nullptr, *page);
}

}  // namespace countrace::viewer
