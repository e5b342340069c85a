// The order of the rows of an index.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_ROW_ORDER_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_ROW_ORDER_H_

#include <cstdint>
#include <vector>

#include "viewer/index/build/index_builder.h"

namespace countrace::viewer {

// Display order: CPUs, then threads by on-CPU time (the report's order) with
// their run, hooks, depths and waits, then rows that are not drawn themselves.
// `thread_order`: as in NameTables.
void SortRows(std::vector<CollectedRow>& rows,
              const std::vector<std::uint32_t>& thread_order);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_ROW_ORDER_H_
