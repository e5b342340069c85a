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

  // Reads `most_share` of the trace at most. Errors: of the reader; CANCELLED
  // another range of the trace was asked for, or this one again while this
  // request waited; RESOURCE_EXHAUSTED the range ends behind that share.
  absl::StatusOr<Kept> Get(const TimelineIndex& of, const Key& key,
                           double most_share) {
    const auto& [trace_path, index, from_ns, until_ns] = key;
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = ++requests_;
      wanted_[trace_path] = {key, number};
      if (Kept kept = Find(key)) return kept;
    }
    const auto turn =
        TurnToReport([&, &path = trace_path] { return IsLast(path, number); });
    if (!turn.owns_lock()) return absl::CancelledError();
    {
      const std::lock_guard lock(mutex_);
      if (Kept kept = Find(key)) return kept;  // another request has read it
    }
    bool too_long = false;
    absl::StatusOr<rmap::Report> report = ReportOf(
        trace_path, {from_ns, until_ns}, {},
        [&](const logformat::Progress& progress) {
          too_long = most_share < 1 &&
                     static_cast<double>(progress.done) >
                         most_share * static_cast<double>(progress.total);
          return !too_long && IsWanted(key);
        });
    malloc_trim(0);
    if (too_long) return absl::ResourceExhaustedError("");
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

  struct Wanted {
    Key key;
    std::uint64_t number = 0;  // of the request
  };

  bool IsWanted(const Key& key) {
    const std::lock_guard lock(mutex_);
    return wanted_[std::get<0>(key)].key == key;
  }
  bool IsLast(const std::string& trace_path, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return wanted_[trace_path].number == number;
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
  std::uint64_t requests_ = 0;
  std::map<std::string, Wanted> wanted_;    // by trace: what was asked for last
  std::vector<std::pair<Key, Kept>> kept_;  // the last to go first
};

// Records of the trace; 0: the index does not say.
double RecordsOf(const TimelineIndex& index) {
  const nlohmann::json facts =
      nlohmann::json::parse(index.facts(), nullptr, false);
  if (!facts.is_object()) return 0;
  const auto records = facts.find("records");
  return records != facts.end() && records->is_number() ? records->get<double>()
                                                        : 0.0;
}

HttpResponse TooLong(const std::string& reads) {
  return Refuse(413,
                absl::StrFormat("a report of the range reads %s, more than "
                                "%d million: `countrace report --from "
                                "--to` has no limit",
                                reads, kMaxReportedRecords / 1'000'000));
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
  // Up to the end of the range, if they are spread evenly; and those read.
  constexpr auto kMost = static_cast<double>(kMaxReportedRecords);
  const double records = RecordsOf(index);
  const auto duration_ns = static_cast<double>(index.duration_ns());
  const double until =
      duration_ns <= 0
          ? records
          : records *
                std::min(1.0, static_cast<double>(times->end_ns) / duration_ns);
  if (until > kMost) {
    return TooLong(absl::StrFormat("some %.0f million records", until / 1e6));
  }
  static auto& reports = *new KeptReports;
  const auto report = reports.Get(
      index,
      {events->trace_path(), IdOf(index), range->from_ns, range->until_ns},
      records > kMost ? kMost / records : 1.0);
  if (absl::IsResourceExhausted(report.status())) {
    return TooLong(absl::StrFormat(
        "too many of the trace's %.0f million records", records / 1e6));
  }
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
