#include "viewer/offline/stored_functions.h"

#include <cstdint>
#include <optional>

#include "viewer/server/api_answer.h"
#include "viewer/server/function_table.h"

namespace countrace::viewer {

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
  const bool of_range = named.of_range || range->from_ns > named.begin_ns ||
                        range->until_ns != ~std::uint64_t{0};
  const rmap::Samples samples =
      rmap::SamplesOfRange(named, range->from_ns, range->until_ns);
  std::optional<NamedFunctions> functions;
  if (!samples.events.empty()) {
    rmap::NamedPlaces places(named);
    functions = NameFunctions(samples, named.in, places, *chosen);
  }
  return AnswerFunctionsPage(samples, of_range, *chosen,
                             functions ? &*functions : nullptr, *page);
}

}  // namespace countrace::viewer
