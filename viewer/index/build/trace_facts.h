// Facts about the whole trace for the client: section kFacts.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_TRACE_FACTS_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_TRACE_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "viewer/index/build/index_builder.h"

namespace countrace::viewer {

// JSON text. `losses`: how many intervals with lost records there are;
// `begin_ns`: of the index, on CLOCK_MONOTONIC; `part_from_ns`: if it is of a
// range, where that begins in the trace.
std::string TraceFacts(const rmap::Report& report,
                       const logformat::TraceInfo& info,
                       const CollectionOddities& oddities, std::size_t losses,
                       std::uint64_t begin_ns,
                       std::optional<std::uint64_t> part_from_ns);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_TRACE_FACTS_H_
