// The records of a trace around an instant, as `countrace script --format
// jsonl` has them. The index has no records: they are read from the trace's
// begin, so a page costs the time to read up to it.
//
// Thread: any; one page is read at a time.
#ifndef COUNTRACE_VIEWER_SERVER_HTTP_TRACE_EVENTS_H_
#define COUNTRACE_VIEWER_SERVER_HTTP_TRACE_EVENTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/read/script_json.h"
#include "logformat/read/trace_reader.h"

namespace countrace::viewer {

// A place between records: before record `nth` of those at `time_ns`, ns since
// the trace began.
struct EventPlace {
  std::uint64_t time_ns = 0;
  std::uint64_t nth = 0;
};

class JoinedRequests;

class TraceEvents {
 public:
  // Opens the trace with the first page. `shown_as`: the trace that it is read
  // for, if not itself.
  explicit TraceEvents(std::string trace_path, std::string shown_as = "")
      : trace_path_(std::move(trace_path)), shown_as_(std::move(shown_as)) {}

  std::string trace_path() const {
    const std::lock_guard lock(mutex_);
    return trace_path_;
  }
  // Files of rules for its trees. Set before it is used.
  void SetRuleFiles(std::vector<std::string> files) {
    rule_files_ = std::move(files);
  }
  const std::vector<std::string>& rule_files() const { return rule_files_; }
  // A conversion, or of a recording that goes on: it is removed in the end.
  bool is_copy() const {
    return !shown_as_.empty() && trace_path() != shown_as_;
  }
  // From here on the records are those of a longer copy of the same trace.
  void Follow(std::string trace_path) {
    const std::lock_guard lock(mutex_);
    trace_path_ = std::move(trace_path);
    renderer_.reset();
    reader_.reset();
  }
  // What its requests are asked of; null: there was no `view --join`. It must
  // outlive this object.
  JoinedRequests* joined() const { return joined_; }
  void set_joined(JoinedRequests* joined) { joined_ = joined; }
  // The number of the last request for trees: each ends the one before it.
  std::atomic<std::uint64_t>& newest_trees() const { return newest_trees_; }
  // At most `limit` records from `place` on; `back`: the last before it. Times
  // are ns since `begin_ns`. Each has `t` and `nth` of its place. Returns: an
  // error if the trace cannot be read any more.
  absl::StatusOr<nlohmann::json> Page(std::uint64_t begin_ns, EventPlace place,
                                      bool back, std::size_t limit) const;

 private:
  std::string trace_path_;
  const std::string shown_as_;
  std::vector<std::string> rule_files_;
  JoinedRequests* joined_ = nullptr;
  mutable std::atomic<std::uint64_t> newest_trees_{0};
  mutable std::mutex mutex_;
  mutable std::unique_ptr<logformat::TraceReader> reader_;
  mutable std::unique_ptr<logformat::ScriptJsonRenderer> renderer_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_HTTP_TRACE_EVENTS_H_
