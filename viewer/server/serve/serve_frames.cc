// Serves several traces, each with its page in a frame of one page: two side by
// side, or those of hosts (API.md, "Side by side", "Hosts").
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/name_escape.h"
#include "logformat/progress.h"
#include "rmap/hosts/host_clocks.h"
#include "viewer/server.h"
#include "viewer/server/api/reports_api.h"
#include "viewer/server/api/served_indexes.h"
#include "viewer/server/http/http_server.h"
#include "viewer/server/http/request_guard.h"
#include "viewer/server/http/trace_events.h"
#include "viewer/server/serve/index_opening.h"
#include "viewer/server/serve/viewer_site.h"
#include "viewer/server/tables/joined_requests.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

Json JsonOf(const ServedHost& host, const std::string& folder) {
  // Far enough apart that both clocks move on.
  const std::uint64_t begin = host.begin_ns;
  const std::uint64_t end = std::max(host.end_ns, begin + 1000);
  Json clock = Json::array();
  for (const std::uint64_t own : {begin, end}) {
    clock.push_back({absl::StrCat(own), absl::StrCat(host.clock.Common(own))});
  }
  // At an end it is known least.
  const std::uint64_t within =
      std::max(host.clock.WithinNs(begin), host.clock.WithinNs(end));
  return {{"name", host.name},
          {"folder", folder + "/"},
          {"how", host.clock.how()},
          {"within_ns", within},
          {"clock", std::move(clock)}};
}

// What all frames have together.
struct Together {
  Json hosts = Json::array();                  // empty: two are side by side
  std::uint64_t begin_ns = ~std::uint64_t{0};  // the first, on the common clock
  std::optional<std::vector<rmap::SentMessage>> messages;
};

// Those on their way in a range, the longest first.
HttpResponse AnswerMessages(const Together& all, ApiQuery& query) {
  const auto range = query.Range();
  const auto limit = query.Number("limit", kMaxMessages, kMaxMessages);
  if (!range || !limit) return Refuse(400, query.error());
  std::vector<std::pair<std::uint64_t, const rmap::SentMessage*>> found;
  for (const rmap::SentMessage& message : *all.messages) {
    const auto [begin, end] =
        std::minmax(message.sent.time_ns, message.received.time_ns);
    if (begin - all.begin_ns >= range->end_ns) continue;
    if (end - all.begin_ns < range->begin_ns) continue;
    found.emplace_back(end - begin, &message);
  }
  const auto cut = std::min<std::uint64_t>(*limit, found.size());
  std::ranges::partial_sort(found,
                            found.begin() + static_cast<std::ptrdiff_t>(cut),
                            std::greater<>());
  const auto json_of = [&](const rmap::SentMessage::End& end) -> Json {
    return {{"host", end.host},
            {"thread", static_cast<std::uint32_t>(end.thread)},
            {"t", static_cast<std::int64_t>(end.time_ns - all.begin_ns)}};
  };
  Json rows = Json::array();
  for (const auto& [length, message] : std::span(found).first(cut)) {
    rows.push_back({{"value", base::EscapeName(message->value)},
                    {"sent", json_of(message->sent)},
                    {"received", json_of(message->received)}});
  }
  return AnswerJson({{"total", found.size()}, {"messages", std::move(rows)}});
}

// What is said of all indexes in one go. Thread: any.
class JointProgress {
 public:
  JointProgress(const ServeOptions& options, std::size_t traces)
      : options_(options), read_(traces) {}

  ServeOptions Joined(ServeOptions options, std::size_t trace) {
    options.progress = [this, trace](const logformat::Progress& progress) {
      const std::lock_guard lock(mutex_);
      read_[trace] = progress;
      logformat::Progress sum;
      for (const logformat::Progress& one : read_) {
        sum.done += one.done;
        sum.total += one.total;
      }
      return !options_.progress || options_.progress(sum);
    };
    options.on_whole = [this] {
      const std::lock_guard lock(mutex_);
      if (++whole_ == read_.size() && options_.on_whole) options_.on_whole();
    };
    return options;
  }

 private:
  const ServeOptions& options_;
  std::mutex mutex_;
  std::vector<logformat::Progress> read_;
  std::size_t whole_ = 0;
};

// All that answers of one trace, below its folder.
struct Frame {
  Frame(std::string in, ServeOptions given)
      : folder(std::move(in)),
        options(std::move(given)),
        events(options.trace_path, options.shown_as) {
    events.SetRuleFiles(options.rule_files);
    if (options.join) events.set_joined(&joined.emplace(*options.join));
    opening.emplace(options, indexes, events);
  }
  const std::string folder;  // "/a"
  const ServeOptions options;
  ServedIndexes indexes;
  std::optional<JoinedRequests> joined;
  TraceEvents events;
  std::optional<ViewerSite> site;
  std::optional<IndexOpening> opening;  // uses the others
};

// `around` has the page with the frames; all sites have the same token.
HttpResponse AnswerAround(const ViewerSite& around,
                          const std::deque<Frame>& frames, const Together& all,
                          const HttpRequest& request) {
  ApiQuery query(request);
  for (const Frame& frame : frames) {
    if (!query.path().starts_with(frame.folder + "/")) continue;
    HttpRequest inside = request;
    inside.target.erase(0, frame.folder.size());
    return frame.site->Answer(inside);
  }
  HttpResponse response = around.Answer(request);
  const bool is_diff = all.hosts.empty() && query.path() == "/api/v1/diff";
  const bool is_messages = all.messages && query.path() == "/api/v1/messages";
  const bool is_own = is_diff || is_messages || query.path() == "/api/v1/hosts";
  if (!is_own || request.method != "GET" ||
      around.guard().Judge(request) != RequestGuard::Verdict::kAllowed) {
    return response;
  }
  HttpResponse own = is_diff ? AnswerDiff(frames[0].options.trace_path,
                                          frames[1].options.trace_path, query)
                     : is_messages
                         ? AnswerMessages(all, query)
                         : AnswerJson({{"hosts", all.hosts},
                                       {"messages", all.messages.has_value()}});
  own.headers = std::move(response.headers);
  return own;
}

// The port, what is called, and `progress`, which has the sum of all, are those
// of the first one's options.
absl::Status ServeFrames(
    const std::vector<std::pair<std::string, const ServeOptions&>>& traces,
    const Together& all) {
  const ServeOptions& first = traces.front().second;
  JointProgress progress(first, traces.size());
  std::deque<Frame> frames;
  for (const auto& [folder, options] : traces) {
    frames.emplace_back(folder, progress.Joined(options, frames.size()));
  }
  for (Frame& frame : frames) {
    absl::Status opened = frame.opening->AwaitFirst(/*whole=*/false);
    if (!opened.ok()) return opened;
  }
  auto listening = HttpServer::Listen(first.port, HttpLimits());
  if (!listening.ok()) return listening.status();
  const std::shared_ptr<HttpServer> server = *std::move(listening);
  const auto guard = RequestGuard::Create(server->port());
  if (!guard.ok()) return guard.status();
  for (Frame& frame : frames) {
    frame.site.emplace(frame.indexes, &frame.events, *guard);
    frame.opening->StopAfterFailure(server);
  }
  const ViewerSite around(frames[0].indexes, &frames[0].events, *guard,
                          /*sources=*/nullptr, "/pair.html");
  if (first.on_ready) first.on_ready(guard->Url());
  server->Run(
      [&](const HttpRequest& request) {
        return AnswerAround(around, frames, all, request);
      },
      /*stop_on_signals=*/true);
  for (Frame& frame : frames) {
    if (absl::Status opened = frame.opening->status(); !opened.ok()) {
      return opened;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ServePair(const ServeOptions& before, const ServeOptions& after) {
  return ServeFrames({{"/a", before}, {"/b", after}}, {});
}

absl::Status ServeHosts(ServedHosts served) {
  std::vector<std::pair<std::string, const ServeOptions&>> traces;
  Together all;
  for (const ServedHost& host : served.hosts) {
    // By number: a name may be "..".
    const std::string folder = absl::StrCat("/h/", traces.size());
    traces.emplace_back(folder, host.options);
    all.hosts.push_back(JsonOf(host, folder));
    all.begin_ns = std::min(all.begin_ns, host.clock.Common(host.begin_ns));
  }
  all.messages = std::move(served.messages);
  return ServeFrames(traces, all);
}

}  // namespace countrace::viewer
