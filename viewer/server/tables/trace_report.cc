#include "viewer/server/tables/trace_report.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "viewer/server/tables/function_table.h"

namespace countrace::viewer {
namespace {

// Numbers of rows that the index has under another one: that of the first with
// their pid or tid; or, as later records make them others, does not have: one
// behind all of its own.
template <typename Entries, typename Row, typename EntryId, typename RowId>
auto NumbersIn(const Entries& entries, const std::vector<Row>& rows,
               EntryId entry_id, RowId row_id) {
  using Index = decltype(Row::index);
  std::map<std::int32_t, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].listed != 0) numbers.emplace(entries[i].*entry_id, i);
  }
  std::map<Index, Index> others;
  auto behind = static_cast<std::uint32_t>(entries.size());
  for (const Row& row : rows) {
    const auto own = static_cast<std::uint32_t>(row.index);
    if (own < entries.size() && entries[own].*entry_id == row.*row_id) continue;
    const auto found = numbers.find(row.*row_id);
    others.emplace(
        row.index,
        static_cast<Index>(found == numbers.end() ? behind++ : found->second));
  }
  return others;
}

}  // namespace

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

void NumberAsIndex(const TimelineIndex& index, rmap::Report& report) {
  const auto processes = NumbersIn(index.processes(), report.processes,
                                   &ProcessEntry::pid, &rmap::ProcessRow::pid);
  const auto threads = NumbersIn(index.threads(), report.threads,
                                 &ThreadEntry::tid, &rmap::ThreadRow::tid);
  const auto renumber = [](const auto& numbers, auto& number) {
    const auto found = numbers.find(number);
    if (found != numbers.end()) number = found->second;
  };
  for (rmap::ProcessRow& row : report.processes) renumber(processes, row.index);
  for (rmap::ThreadRow& row : report.threads) {
    renumber(threads, row.index);
    renumber(processes, row.process);
  }
  for (rmap::SegmentRow& row : report.segments) {
    renumber(processes, row.process);
  }
  for (rmap::SegmentRow& row : report.segment_paths) {
    renumber(processes, row.process);
  }
  for (rmap::HookRow& row : report.hooks) renumber(processes, row.process);
}

}  // namespace countrace::viewer
