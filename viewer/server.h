// Serves timelines on loopback: of one trace, or of several (viewer/API.md).
#ifndef COUNTRACE_VIEWER_SERVER_H_
#define COUNTRACE_VIEWER_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "rmap/hosts/host_clock.h"
#include "rmap/hosts/host_clocks.h"
#include "rmap/requests/join_rule.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

struct ServeOptions {
  std::string trace_path;
  std::string shown_as;  // the name on the page, if not the path
  // Directories below which the page may show the files that hooks stand in.
  std::vector<std::string> sources;
  std::vector<std::string> rule_files;  // of trees (rmap/metrics)
  std::optional<rmap::JoinRule> join;   // absent: there are no requests
  std::uint16_t port = 0;               // 0: any free port
  // A trace of twice these bytes of streams is served from its first part on,
  // while the index is built (index/first_parts.h).
  std::uint64_t first_part_bytes = std::uint64_t{16} << 20;
  // If set, the trace is being recorded: the path of a finished copy of what
  // has been recorded so far, which stays for the next two calls. It is served,
  // and then the next one, until this returns FAILED_PRECONDITION: the
  // recording has ended, and `trace_path` is served. Called on another thread.
  std::function<absl::StatusOr<std::string>()> next_copy;
  // If set: the fragment of the address (API.md, "The page's address"), without
  // its '#', from the index of the whole trace, which is awaited. Its error
  // ends Serve().
  std::function<absl::StatusOr<std::string>(const TimelineIndex&)> place;
  // If the whole trace's index cannot be built: how long it answers with the
  // reason before it ends. A page requests it twice a second.
  std::chrono::seconds failure_time{3};
  // Called once the server listens, with the address to open (token included).
  std::function<void(const std::string& url)> on_ready;
  // On another thread: the index is being built, then it is there.
  logformat::ProgressCallback progress;
  std::function<void()> on_whole;
};

// Builds or opens the index, serves until SIGINT or SIGTERM; the first part of
// a long trace as soon as it has an index. 127.0.0.1 only.
absl::Status Serve(const ServeOptions& options);

// The same of two traces side by side. Of `after` only the trace and its first
// part count; `before.progress` has the sum of both; there is no place and
// there are no sources.
absl::Status ServePair(const ServeOptions& before, const ServeOptions& after);

// A host's trace, one of several.
struct ServedHost {
  ServeOptions options;
  std::string name;
  rmap::HostClock clock;                   // against the first host's
  std::uint64_t begin_ns = 0, end_ns = 0;  // of the trace, on its own clock
};
struct ServedHosts {
  std::vector<ServedHost> hosts;  // at least one
  // Between them; absent: nothing says which there are.
  std::optional<std::vector<rmap::SentMessage>> messages;
};
// The same of several hosts on the time of the first one; requests are joined,
// and what ServePair() has of `before` is here of the first.
absl::Status ServeHosts(ServedHosts served);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_H_
