#include "viewer/server/tables/trace_report.h"

#include <cstdint>
#include <utility>

#include "logformat/read/trace_reader.h"
#include "viewer/server/tables/function_table.h"

namespace countrace::viewer {

std::optional<rmap::TableRange> ReportRange(const TimelineIndex& index,
                                            ApiQuery& query, const char* from,
                                            const char* to) {
  const auto times = ReportedRange(index, query, from, to);
  if (!times) return std::nullopt;
  return rmap::TableRange{times->from_ns, times->until_ns};
}

std::mutex& MakingReport() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

absl::StatusOr<rmap::Report> ReportOf(const std::string& trace_path,
                                      rmap::TableRange range,
                                      rmap::WantedRows rows,
                                      logformat::ProgressCallback progress) {
  const auto reader = logformat::TraceReader::Open(trace_path);
  if (!reader.ok()) return reader.status();
  return rmap::Reconstruct(
      **reader,
      {.rows = rows, .range = range, .progress = std::move(progress)});
}

}  // namespace countrace::viewer
