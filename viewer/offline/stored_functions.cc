#include "viewer/offline/stored_functions.h"

#include <cstdint>
#include <optional>

#include "viewer/server/tables/function_table.h"
#include "viewer/server/wire/api_answer.h"

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
  const rmap::Samples samples =
      rmap::SamplesOfRange(named, range->from_ns, range->until_ns);
  std::optional<NamedFunctions> functions;
  if (!samples.events.empty()) {
    rmap::NamedPlaces places(named);
    functions = NameFunctions(samples, named.in, places, *chosen);
  }
  return AnswerFunctionsPage(samples, *chosen,
                             functions ? &*functions : nullptr, *page);
}

}  // namespace countrace::viewer
