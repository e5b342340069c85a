// The requests of a trace, by `view --join`: read at the first question for
// them, and kept; and their rows as JSON (API.md, "requests").
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_JOINED_REQUESTS_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_JOINED_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/requests/join_rule.h"
#include "rmap/requests/joined_calls.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

class JoinedRequests {
 public:
  explicit JoinedRequests(rmap::JoinRule rule) : rule_(std::move(rule)) {}

  const rmap::JoinRule& rule() const { return rule_; }
  // Reads the trace if it has not been read. Errors: of rmap::JoinCalls();
  // CANCELLED it is being read for another request, which alone may wait.
  absl::StatusOr<std::shared_ptr<const rmap::Requests>> Of(
      const std::string& trace_path);

 private:
  std::shared_ptr<const rmap::Requests> Kept(const std::string& trace_path);

  const rmap::JoinRule rule_;
  std::mutex reading_;
  std::mutex mutex_;  // of what follows
  std::string path_;  // of requests_
  std::shared_ptr<const rmap::Requests> requests_;
};

// The numbers of those that touch `range`, on CLOCK_MONOTONIC, by a column
// (ascending or descending), the earlier of two that are equal first. Absent:
// there is no such column.
std::optional<std::vector<std::uint32_t>> RequestRows(
    const rmap::Requests& requests, TimeRange range, std::string_view column,
    bool ascending);
// The one with this id, as the page shows it.
std::optional<std::uint32_t> RequestNamed(const rmap::Requests& requests,
                                          std::string_view id);

// A row with its first `spans` calls; times are ns since `begin_ns`.
nlohmann::json RequestJson(const rmap::Requests& requests, std::uint32_t number,
                           std::uint64_t begin_ns, std::size_t spans);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_JOINED_REQUESTS_H_
