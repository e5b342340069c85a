#include "viewer/server/api/reported_range_api.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "viewer/server/api/index_api.h"
#include "viewer/server/api/range_api.h"
#include "viewer/server/tables/reported_tables.h"
#include "viewer/server/tables/trace_report.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {
namespace {

// The last reports, as a table is asked for in pages, orders and conditions.
class KeptReports {
 public:
  using Key = std::tuple<std::string, std::string, std::uint64_t,
                         std::uint64_t>;  // trace, index, from, until
  using Kept = std::shared_ptr<const rmap::Report>;

  // Errors: of the reader; CANCELLED another range of the trace was asked for.
  absl::StatusOr<Kept> Get(const TimelineIndex& of, const Key& key) {
    {
      const std::lock_guard lock(mutex_);
      if (Kept kept = Find(key)) return kept;
      wanted_[std::get<0>(key)] = key;
    }
    const std::lock_guard making(MakingReport());
    {
      const std::lock_guard lock(mutex_);
      if (Kept kept = Find(key)) return kept;  // another request has read it
    }
    const auto& [trace_path, index, from_ns, until_ns] = key;
    absl::StatusOr<rmap::Report> report =
        ReportOf(trace_path, {from_ns, until_ns}, {},
                 [&](const logformat::Progress&) { return IsWanted(key); });
    malloc_trim(0);
    if (!report.ok()) return report.status();
    NumberAsIndex(of, *report);
    const std::lock_guard lock(mutex_);
    kept_.insert(
        kept_.begin(),
        {key, std::make_shared<const rmap::Report>(*std::move(report))});
    if (kept_.size() > kMostReports) kept_.pop_back();
    return kept_.front().second;
  }

 private:
  static constexpr std::size_t kMostReports = 2;

  bool IsWanted(const Key& key) {
    const std::lock_guard lock(mutex_);
    return wanted_[std::get<0>(key)] == key;
  }
  // Requires: mutex_ is held.
  Kept Find(const Key& key) {
    const auto found =
        std::find_if(kept_.begin(), kept_.end(),
                     [&](const auto& kept) { return kept.first == key; });
    if (found == kept_.end()) return nullptr;
    std::rotate(kept_.begin(), found, found + 1);
    return kept_.front().second;
  }

  std::mutex mutex_;
  std::map<std::string, Key> wanted_;       // by trace: what was asked for last
  std::vector<std::pair<Key, Kept>> kept_;  // the last to go first
};

// Records up to the end of the range, which are read; their density is taken as
// even.
double RecordsUntil(const TimelineIndex& index, std::uint64_t end_ns) {
  const nlohmann::json facts =
      nlohmann::json::parse(index.facts(), nullptr, false);
  const auto records = facts.value("records", 0.0);
  const auto duration_ns = static_cast<double>(index.duration_ns());
  return duration_ns <= 0
             ? records
             : records *
                   std::min(1.0, static_cast<double>(end_ns) / duration_ns);
}

}  // namespace

std::optional<HttpResponse> AnswerReportedRange(const TimelineIndex& index,
                                                const TraceEvents* events,
                                                std::string_view name,
                                                ApiQuery& query) {
  if (name != "aggregate" || !query.Has("by")) return std::nullopt;
  if (query.Word("by") != "report") {
    return Refuse(400, "Parameter by: expected report");
  }
  const std::string_view tables = query.Word("tables");
  if (tables.find("waits") != tables.npos ||
      tables.find("paths") != tables.npos) {
    return Refuse(400,
                  "Parameter tables: with by=report processes, threads, "
                  "segments, hooks and cpus; `calltree` has the paths");
  }
  if (events == nullptr) return AnswerAggregate(index, query);
  const auto times = query.Range();
  if (!times) return Refuse(400, query.error());
  const auto range = ReportRange(index, query, "from", "to");
  if (!range) return Refuse(400, query.error());
  const double records = RecordsUntil(index, times->end_ns);
  if (records > static_cast<double>(kMaxReportedRecords)) {
    return Refuse(
        413, absl::StrFormat(
                 "a report of the range reads some %.0f million records, more "
                 "than %d million: `countrace report --from --to` has no limit",
                 records / 1e6, kMaxReportedRecords / 1'000'000));
  }
  static auto& reports = *new KeptReports;
  const auto report = reports.Get(index, {events->trace_path(), IdOf(index),
                                          range->from_ns, range->until_ns});
  if (absl::IsCancelled(report.status())) {
    return Refuse(409, "A later request took the place of this one");
  }
  if (!report.ok()) {
    return Refuse(500, std::string(report.status().message()));
  }
  return AnswerAggregate(index, query, report->get(),
                         TablesOfReport(index, *times, **report));
}

}  // namespace countrace::viewer
