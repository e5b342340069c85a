#include "viewer/server/tables/trace_report.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "viewer/server/tables/function_table.h"

namespace countrace::viewer {
namespace {

constexpr std::chrono::milliseconds kLookAgain(20);

// Numbers of rows that the index has under another one: of those with their pid
// or tid, which may be reused, the one first seen at the nearest time; or, as
// later records make them others, does not have: one behind all of its own. No
// two get the same. `seen_ns`: when each entry was first seen.
template <typename Entries, typename Row, typename EntryId, typename RowId>
auto NumbersIn(const Entries& entries,
               const std::vector<std::uint64_t>& seen_ns,
               const std::vector<Row>& rows, EntryId entry_id, RowId row_id) {
  using Index = decltype(Row::index);
  std::vector<bool> taken(entries.size());
  std::vector<const Row*> moved;
  for (const Row& row : rows) {
    const auto own = static_cast<std::uint32_t>(row.index);
    if (own < entries.size() && entries[own].*entry_id == row.*row_id) {
      taken[own] = true;
    } else {
      moved.push_back(&row);
    }
  }
  std::stable_sort(moved.begin(), moved.end(), [](const Row* a, const Row* b) {
    return a->first_seen_ns < b->first_seen_ns;
  });
  std::multimap<std::int32_t, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].listed != 0 && !taken[i]) {
      numbers.emplace(entries[i].*entry_id, i);
    }
  }
  std::map<Index, Index> others;
  auto behind = static_cast<std::uint32_t>(entries.size());
  for (const Row* row : moved) {
    const auto [begin, end] = numbers.equal_range(row->*row_id);
    const auto distance = [&](const auto& number) {
      const std::uint64_t at = seen_ns[number.second];
      return std::max(at, row->first_seen_ns) -
             std::min(at, row->first_seen_ns);
    };
    const auto nearest =
        std::min_element(begin, end, [&](const auto& a, const auto& b) {
          return distance(a) < distance(b);
        });
    if (nearest == end) {
      others.emplace(row->index, static_cast<Index>(behind++));
    } else {
      others.emplace(row->index, static_cast<Index>(nearest->second));
      numbers.erase(nearest);
    }
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

std::timed_mutex& MakingReport() {
  static auto& mutex = *new std::timed_mutex;
  return mutex;
}

std::unique_lock<std::timed_mutex> TurnToReport(
    const std::function<bool()>& is_wanted) {
  std::unique_lock turn(MakingReport(), std::defer_lock);
  while (is_wanted() && !turn.try_lock_for(kLookAgain)) continue;
  return turn;
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
  std::vector<std::uint64_t> threads_ns(index.threads().size());
  std::vector<std::uint64_t> processes_ns(index.processes().size(),
                                          ~std::uint64_t{0});
  for (std::uint32_t i = 0; i < threads_ns.size(); ++i) {
    threads_ns[i] = index.header().begin_ns + index.threads()[i].first_seen_ns;
    const std::uint32_t process = index.ProcessOf(i);
    if (process >= processes_ns.size()) continue;
    processes_ns[process] = std::min(processes_ns[process], threads_ns[i]);
  }
  const auto processes =
      NumbersIn(index.processes(), processes_ns, report.processes,
                &ProcessEntry::pid, &rmap::ProcessRow::pid);
  const auto threads = NumbersIn(index.threads(), threads_ns, report.threads,
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
