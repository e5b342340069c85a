// Second half of building an index: collected rows in, one index file out.
//
// Flow: IndexBuilder::Finish -> AssembleIndex -> IndexFileWriter. Walks each
// row once, in display order; memory: forest nodes and postings of one row at a
// time.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_INDEX_ASSEMBLY_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_INDEX_ASSEMBLY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "logformat/progress.h"
#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "viewer/index/build/index_builder.h"
#include "viewer/index/build/missing_spans.h"
#include "viewer/index/build/row_spool.h"

namespace countrace::viewer {

struct AssemblyInput {
  const RowSpool& spool;  // sealed
  std::vector<CollectedRow> rows;
  std::vector<CollectedLoss> losses;
  const std::vector<std::string>& causes;
  LateCounts late_counts;
  MissingSpans missing;
  std::vector<InferredStep> inferred;  // kUnknownTime: at any time
  CollectionOddities oddities;
  std::uint32_t events;
  std::uint64_t begin_ns, end_ns;                  // absolute
  std::optional<std::uint64_t> part_from_ns = {};  // as TraceFacts()
  const rmap::Report& report;
  const logformat::TraceInfo& info;
  Fingerprint fingerprint;
  const logformat::ProgressCallback& progress;  // of the leaves; may be null
};

// Returns: errors of IndexFileWriter; CANCELLED if `progress` says stop.
absl::Status AssembleIndex(AssemblyInput input, const std::string& path);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_INDEX_ASSEMBLY_H_
