// Processes, threads and hooks as an index has them: by number, with their
// names.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_NAME_TABLES_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_NAME_TABLES_H_

#include <cstdint>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "viewer/index/file/file_layout.h"
#include "viewer/index/file/string_pool.h"
#include "viewer/index/file/trace_span.h"

namespace countrace::viewer {

// Names are complete only after reconstruction: until then rows carry numbers.
struct NameTables {
  std::vector<ProcessEntry> processes;
  std::vector<ThreadEntry> threads;
  std::vector<HookEntry> hooks;
  // The place of each thread in the report; kNoKey: it has none.
  std::vector<std::uint32_t> thread_order;

  std::uint32_t ProcessOf(std::uint32_t thread) const {
    return thread < threads.size() ? threads[thread].process : kNoKey;
  }
};

NameTables NumberNames(const rmap::Report& report,
                       const logformat::TraceInfo& info, const TraceSpan& span,
                       StringPool& strings);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_NAME_TABLES_H_
