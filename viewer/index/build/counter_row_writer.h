// Writes the row of the counter dumps of a CPU.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_COUNTER_ROW_WRITER_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_COUNTER_ROW_WRITER_H_

#include <cstddef>

#include "viewer/index/build/index_builder.h"
#include "viewer/index/build/index_file_writer.h"
#include "viewer/index/build/row_spool.h"
#include "viewer/index/file/file_layout.h"
#include "viewer/index/file/trace_span.h"

namespace countrace::viewer {

// Dumps, then for each event the forest of its rates. Fills in what `entry` has
// of these. `events`: of the trace.
void WriteCounterRow(const RowSpool& spool, const CollectedRow& row,
                     std::size_t events, const TraceSpan& span,
                     IndexFileWriter& out, RowEntry& entry);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_COUNTER_ROW_WRITER_H_
