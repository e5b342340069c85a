#include "viewer/server/trace_report.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/read/trace_reader.h"

namespace countrace::viewer {

std::optional<rmap::TableRange> ReportRange(const TimelineIndex& index,
                                            ApiQuery& query, const char* from,
                                            const char* to) {
  if (!query.Has(from) && !query.Has(to)) return rmap::TableRange();
  const auto range = query.Range(from, to);
  if (!range) return std::nullopt;
  if (range->begin_ns == range->end_ns) {
    query.set_error(absl::StrFormat("The range is empty: %s=%d, %s=%d", from,
                                    range->begin_ns, to, range->end_ns));
    return std::nullopt;
  }
  const std::uint64_t begin_ns = index.header().begin_ns;
  rmap::TableRange table{.from_ns = begin_ns + range->begin_ns};
  // The end includes the last record.
  if (range->end_ns < index.header().duration_ns) {
    table.until_ns = begin_ns + range->end_ns;
  }
  return table;
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
