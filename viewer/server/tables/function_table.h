// The table of functions of samples whose code has names: a request's
// parameters, and the answer. The server's (functions_api.h) and an exported
// page's (viewer/offline/stored_functions.h).
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_FUNCTION_TABLE_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_FUNCTION_TABLE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "rmap/result/samples.h"
#include "rmap/samples/rows/period_comparison.h"
#include "rmap/samples/rows/place_rows.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// On CLOCK_MONOTONIC, half-open.
struct ReportedTimes {
  std::uint64_t from_ns = 0, until_ns = ~std::uint64_t{0};
};
// The range of the trace that a request names. Absent, with the query's error:
// a number is wrong. The whole trace: neither `from` nor `to`.
std::optional<ReportedTimes> ReportedRange(const TimelineIndex& index,
                                           ApiQuery& query, const char* from,
                                           const char* to);

// By number; absent: all. The same as `report --process --thread`.
struct ChosenSamples {
  std::optional<std::uint32_t> process = {}, thread = {};
  bool operator<(const ChosenSamples& other) const {
    return std::tie(process, thread) < std::tie(other.process, other.thread);
  }
};

// Absent, with the query's error: a number is wrong.
std::optional<ChosenSamples> ParseChosenSamples(ApiQuery& query);

// Which of Samples::contexts are chosen; empty: all.
std::vector<bool> ContextsOf(const rmap::Samples& samples,
                             const ChosenSamples& chosen);

// Which rows, in which order.
struct FunctionsPage {
  std::uint64_t offset = 0, limit = 0;
  std::string_view sort;  // refers to the query
  bool ascending = false;
  std::optional<std::uint64_t> event = {};  // of Samples::events; absent: all
};

// Absent, with the query's error.
std::optional<FunctionsPage> ParseFunctionsPage(ApiQuery& query);

// The functions of the chosen samples of a range.
struct NamedFunctions {
  rmap::SampleTable table;
  std::vector<rmap::PeriodComparison> periods;
};
// `in`: texts of the contexts.
NamedFunctions NameFunctions(const rmap::Samples& samples,
                             const std::vector<std::string>& in,
                             rmap::FramePlaces& places,
                             const ChosenSamples& chosen);

// The answer to `functions` (API.md). `functions`: null if there are no events.
HttpResponse AnswerFunctionsPage(const rmap::Samples& samples,
                                 const ChosenSamples& chosen,
                                 const NamedFunctions* functions,
                                 const FunctionsPage& page);

// All samples that were chosen, by event: what shares are of.
nlohmann::json SampledAll(const rmap::Samples& samples,
                          const ChosenSamples& chosen);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_FUNCTION_TABLE_H_
