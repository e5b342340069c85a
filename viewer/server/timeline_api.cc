#include "viewer/server/timeline_api.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/text/quantity_parse.h"
#include "rmap/tables/tables.h"
#include "viewer/index/call_durations.h"
#include "viewer/index/instant_state.h"
#include "viewer/index/nearest_step.h"
#include "viewer/index/range_totals.h"
#include "viewer/index/tile.h"
#include "viewer/index/wait_split.h"
#include "viewer/server/query_string.h"
#include "viewer/server/range_json.h"
#include "viewer/server/state_json.h"
#include "viewer/server/table_order.h"
#include "viewer/server/wait_json.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

constexpr char kJson[] = "application/json";
constexpr char kBinary[] = "application/octet-stream";

// Names come from a trace and may hold any bytes.
HttpResponse AnswerJson(const Json& json, int status = 200) {
  return {.status = status,
          .content_type = kJson,
          .body = json.dump(-1, ' ', false, Json::error_handler_t::replace),
          .headers = {}};
}

HttpResponse Refuse(int status, std::string message) {
  return AnswerJson({{"error", std::move(message)}}, status);
}

HttpResponse Refuse(const absl::Status& status) {
  return Refuse(absl::IsNotFound(status) ? 404 : 400,
                std::string(status.message()));
}

Json OrNull(std::uint64_t value_ns) {
  return value_ns == kUnknownTime ? Json(nullptr) : Json(value_ns);
}

// Quality of a row's `listed` (file_layout.h), for any value in a damaged file.
const char* QualityOf(std::uint32_t listed) {
  return listed >= 1 &&
                 listed <= 1u + static_cast<unsigned>(rmap::Quality::kInferred)
             ? rmap::QualityName(static_cast<rmap::Quality>(listed - 1))
             : "unknown";
}

const char* KindName(RowKind kind) {
  switch (kind) {
    case RowKind::kQuality:
      return "quality";
    case RowKind::kCpu:
      return "cpu";
    case RowKind::kThreadRun:
      return "run";
    case RowKind::kHook:
      return "hook";
    case RowKind::kSegment:
      return "segment";
    case RowKind::kInterruptTime:
      return "interrupts";
    default:
      return "other";
  }
}

bool IsDrawn(RowKind kind) {
  return kind < RowKind::kIdleRun || kind == RowKind::kInterruptTime;
}

class Api {
 public:
  Api(const TimelineIndex& index, const HttpRequest& request)
      : index_(index),
        request_(request),
        target_(ParseTarget(request.target)) {}

  HttpResponse Answer() {
    constexpr std::string_view kPrefix = "/api/v1/";
    if (target_.path.substr(0, kPrefix.size()) != kPrefix) return Unknown();
    const std::string_view name = target_.path.substr(kPrefix.size());
    if (name == "tiles") {
      return request_.method == "POST" ? Tiles() : WrongMethod("POST");
    }
    if (request_.method != "GET" && request_.method != "HEAD") {
      return WrongMethod("GET");
    }
    if (name == "trace") return Trace();
    if (name == "overview") return Overview();
    if (name == "processes") return Processes();
    if (name == "threads") return Threads();
    if (name == "hooks") return Hooks();
    if (name == "rows") return Rows();
    if (name == "losses") return Losses();
    if (name == "aggregate") return Aggregate();
    if (name == "state") return State();
    if (name == "step") return NextStep();
    if (name == "wait") return Wait();
    if (name == "durations") return Durations();
    constexpr std::string_view kTile = "tile/";
    if (name.substr(0, kTile.size()) == kTile) {
      return OneTile(name.substr(kTile.size()));
    }
    return Unknown();
  }

 private:
  HttpResponse Unknown() const { return Refuse(404, "No such address"); }
  static HttpResponse WrongMethod(const char* allowed) {
    HttpResponse response =
        Refuse(405, absl::StrFormat("Only %s is allowed here", allowed));
    response.headers.emplace_back("Allow", allowed);
    return response;
  }

  // A number of the query; null, with `error_` set, if it is missing or wrong.
  std::optional<std::uint64_t> Number(std::string_view name,
                                      std::optional<std::uint64_t> otherwise) {
    const auto found = target_.parameters.find(name);
    if (found == target_.parameters.end()) {
      if (!otherwise) error_ = absl::StrFormat("Missing parameter: %s", name);
      return otherwise;
    }
    const std::optional<std::uint64_t> value =
        base::ParseInteger(found->second);
    if (!value) {
      error_ = absl::StrFormat("Not a number: %s (digits only)", name);
    }
    return value;
  }

  HttpResponse Trace() const {
    const FileHeader& header = index_.header();
    Json json = Json::parse(index_.facts(), nullptr, false);
    if (json.is_discarded()) json = Json::object();
    json["api"] = 1;
    json["begin_ns"] = std::to_string(header.begin_ns);  // beyond 2^53
    json["duration_ns"] = header.duration_ns;
    json["cpus"] = header.cpus;
    json["processes"] = index_.processes().size();
    json["threads"] = index_.threads().size();
    json["hooks"] = index_.hooks().size();
    json["rows"] = index_.rows().size();
    json["counter_rows_from"] = CounterRowNumber(index_, 0, 0);
    json["machine_row"] = MachineRowNumber(index_);
    json["losses"] = index_.losses().size();
    json["tile_columns"] = kTileColumns;
    json["max_level"] = kMaxLevel;
    json["overview_rows"] = header.overview_rows;
    json["overview_columns"] = kOverviewColumns;
    return AnswerJson(json);
  }

  HttpResponse Overview() const {
    const std::span<const std::byte> bytes = std::as_bytes(index_.overview());
    return {.status = 200,
            .content_type = kBinary,
            .body = std::string(reinterpret_cast<const char*>(bytes.data()),
                                bytes.size()),
            .headers = {}};
  }

  // {"offset", "total", "items"}: kPageItems from ?offset= on.
  template <typename Entry, typename Write>
  HttpResponse Page(std::span<const Entry> entries, Write write) {
    const std::optional<std::uint64_t> offset = Number("offset", 0);
    if (!offset) return Refuse(400, error_);
    Json items = Json::array();
    const std::uint64_t begin =
        std::min<std::uint64_t>(*offset, entries.size());
    const std::uint64_t end =
        std::min<std::uint64_t>(begin + kPageItems, entries.size());
    for (std::uint64_t i = begin; i < end; ++i) {
      Json item = write(i, entries[i]);
      if (!item.is_null()) items.push_back(std::move(item));
    }
    return AnswerJson({{"offset", begin},
                       {"next", end},
                       {"total", entries.size()},
                       {"items", std::move(items)}});
  }

  // Hooks that the kernel's events have, by the provider in their names.
  static bool IsOfKernel(std::string_view name) {
    constexpr std::string_view kProviders[] = {
        "syscall", "fault", "irq", "softirq", "block", "sched", "wakeup"};
    const std::string_view provider = name.substr(0, name.find(':'));
    return std::find(std::begin(kProviders), std::end(kProviders), provider) !=
           std::end(kProviders);
  }

  HttpResponse Processes() {
    std::set<std::uint32_t> kernel;
    for (const HookEntry& hook : index_.hooks()) {
      if (IsOfKernel(index_.Text(hook.name))) kernel.insert(hook.id);
    }
    std::vector<bool> hooked(index_.processes().size());
    for (const GroupEntry& group : index_.groups()) {
      if (group.process < hooked.size() && !kernel.contains(group.key)) {
        hooked[group.process] = true;
      }
    }
    return Page(index_.processes(),
                [&](std::uint64_t i, const ProcessEntry& process) -> Json {
                  if (process.listed == 0) return nullptr;
                  return {{"process", i},
                          {"pid", process.pid},
                          {"parent_pid", process.parent_pid},
                          {"comm", index_.Text(process.comm)},
                          {"on_cpu_ns", OrNull(process.on_cpu_ns)},
                          {"quality", QualityOf(process.listed)},
                          {"hooked", static_cast<bool>(hooked[i])},
                          {"in_scope", process.in_scope != 0}};
                });
  }
  HttpResponse Threads() {
    return Page(index_.threads(),
                [this](std::uint64_t i, const ThreadEntry& thread) -> Json {
                  if (thread.listed == 0) return nullptr;
                  return {{"thread", i},
                          {"tid", thread.tid},
                          {"pid", thread.pid},
                          {"process", thread.process},
                          {"comm", index_.Text(thread.comm)},
                          {"on_cpu_ns", OrNull(thread.on_cpu_ns)},
                          {"quality", QualityOf(thread.listed)}};
                });
  }
  HttpResponse Hooks() {
    std::map<std::uint32_t, std::uint64_t> calls;
    for (const GroupEntry& group : index_.groups()) {
      calls[group.key] += group.count;
    }
    return Page(index_.hooks(),
                [&](std::uint64_t, const HookEntry& hook) -> Json {
                  return {{"hook", hook.id},
                          {"kind", hook.kind},
                          {"calls", calls[hook.id]},
                          {"name", index_.Text(hook.name)},
                          {"location", index_.Text(hook.location)}};
                });
  }
  HttpResponse Rows() {
    return Page(index_.rows(),
                [](std::uint64_t i, const RowEntry& row) -> Json {
                  if (!IsDrawn(row.kind)) return nullptr;
                  return {{"row", i},
                          {"kind", KindName(row.kind)},
                          {"owner", row.owner},
                          {"depth", row.depth},
                          {"leaves", row.leaves}};
                });
  }
  HttpResponse Losses() {
    return Page(index_.losses(),
                [this](std::uint64_t i, const LossEntry& loss) -> Json {
                  return {{"loss", i},
                          {"cpu", loss.cpu},
                          {"thread", loss.thread},
                          {"begin_ns", loss.begin_ns},
                          {"end_ns", loss.end_ns},
                          {"count", loss.count},
                          {"cause", index_.Text(loss.cause)}};
                });
  }

  HttpResponse OneTile(std::string_view rest) const {
    const std::size_t first = rest.find('/');
    const std::size_t second =
        first == std::string_view::npos ? first : rest.find('/', first + 1);
    if (second == std::string_view::npos) return Unknown();
    const auto row = base::ParseInteger(rest.substr(0, first));
    const auto level =
        base::ParseInteger(rest.substr(first + 1, second - first - 1));
    const auto number = base::ParseInteger(rest.substr(second + 1));
    if (!row || !level || !number || *row >= kNoKey || *level > kMaxLevel) {
      return Refuse(400, "Not a tile: expected tile/ROW/LEVEL/INDEX");
    }
    absl::StatusOr<std::string> tile =
        BuildTile(index_,
                  {.row = static_cast<std::uint32_t>(*row),
                   .level = static_cast<std::uint32_t>(*level),
                   .index = *number},
                  0);
    if (!tile.ok()) return Refuse(tile.status());
    return {.status = 200,
            .content_type = kBinary,
            .body = *std::move(tile),
            .headers = {}};
  }

  HttpResponse Tiles() const {
    if (request_.content_type != kJson) {
      return Refuse(415, "Expected Content-Type: application/json");
    }
    const Json json = Json::parse(request_.body, nullptr, false);
    if (!json.is_object() || !json.contains("tiles") ||
        !json["tiles"].is_array()) {
      return Refuse(400,
                    "Expected {\"generation\": N, \"tiles\": [[row, level, "
                    "index], ...]}");
    }
    const Json& tiles = json["tiles"];
    if (tiles.size() > kMaxTilesInRequest) {
      return Refuse(400, absl::StrFormat("Too many tiles: tiles=%d, limit=%d",
                                         tiles.size(), kMaxTilesInRequest));
    }
    std::uint32_t generation = 0;
    if (const auto found = json.find("generation");
        found != json.end() && found->is_number_unsigned()) {
      generation = static_cast<std::uint32_t>(found->get<std::uint64_t>());
    }
    std::string body;
    for (const Json& tile : tiles) {
      if (!tile.is_array() || tile.size() != 3 ||
          !std::all_of(tile.begin(), tile.end(), [](const Json& number) {
            return number.is_number_unsigned();
          })) {
        return Refuse(400, "A tile is [row, level, index]");
      }
      const auto row = tile[0].get<std::uint64_t>();
      const auto level = tile[1].get<std::uint64_t>();
      if (row >= kNoKey || level > kMaxLevel) {
        return Refuse(
            400, absl::StrFormat("No such tile: row=%d, level=%d, max-level=%d",
                                 row, level, kMaxLevel));
      }
      absl::StatusOr<std::string> built =
          BuildTile(index_,
                    {.row = static_cast<std::uint32_t>(row),
                     .level = static_cast<std::uint32_t>(level),
                     .index = tile[2].get<std::uint64_t>()},
                    generation);
      if (!built.ok()) return Refuse(built.status());
      // The client requests again the tiles that did not fit.
      if (body.size() + built->size() > kMaxTilesBytes) break;
      body += *built;
    }
    return {.status = 200,
            .content_type = kBinary,
            .body = std::move(body),
            .headers = {}};
  }

  // Tables beside the processes'; null if one has a wrong name.
  std::optional<RangeTables> Tables() const {
    const auto found = target_.parameters.find("tables");
    if (found == target_.parameters.end()) return RangeTables{};
    RangeTables tables{.segments = false, .hooks = false};
    const std::vector<std::string> names = absl::StrSplit(found->second, ',');
    for (const std::string& name : names) {
      if (name == "segments") {
        tables.segments = true;
      } else if (name == "hooks") {
        tables.hooks = true;
      } else if (name != "processes") {
        return std::nullopt;
      }
    }
    return tables;
  }

  HttpResponse Aggregate() {
    const std::optional<std::uint64_t> from = Number("from", std::nullopt);
    if (!from) return Refuse(400, error_);
    const std::optional<std::uint64_t> to = Number("to", std::nullopt);
    if (!to) return Refuse(400, error_);
    if (*from > *to) {
      return Refuse(400, absl::StrFormat("Range ends before it begins: "
                                         "from=%d, to=%d",
                                         *from, *to));
    }
    // They page segments and hooks; of processes there are `top` rows from
    // `first` on, and `others` is the sum of the rest.
    const std::optional<std::uint64_t> offset = Number("offset", 0);
    if (!offset) return Refuse(400, error_);
    const std::optional<std::uint64_t> limit = Number("limit", kMaxTableRows);
    if (!limit) return Refuse(400, error_);
    if (*limit > kMaxTableRows) {
      return Refuse(400, absl::StrFormat("Too many rows: limit=%d, most=%d",
                                         *limit, kMaxTableRows));
    }
    const std::optional<std::uint64_t> top = Number("top", kMaxTableRows);
    if (!top) return Refuse(400, error_);
    if (*top > kMaxTableRows) {
      return Refuse(400, absl::StrFormat("Too many rows: top=%d, most=%d", *top,
                                         kMaxTableRows));
    }
    const std::optional<std::uint64_t> first = Number("first", 0);
    if (!first) return Refuse(400, error_);
    const std::optional<RangeTables> tables = Tables();
    if (!tables) {
      return Refuse(400,
                    "Parameter tables: expected processes, segments and hooks, "
                    "separated by commas");
    }
    const auto page = [&](const auto& rows) {
      const std::size_t begin = std::min<std::uint64_t>(*offset, rows.size());
      return std::span(rows).subspan(
          begin, std::min<std::size_t>(*limit, rows.size() - begin));
    };
    RangeTotals totals =
        TotalsIn(index_, {.begin_ns = *from, .end_ns = *to}, *tables);
    if (const auto sort = target_.parameters.find("sort");
        sort != target_.parameters.end()) {
      const auto order = target_.parameters.find("order");
      const bool ascending =
          order != target_.parameters.end() && order->second == "ascending";
      if (order != target_.parameters.end() && !ascending &&
          order->second != "descending") {
        return Refuse(400, "Parameter order: expected ascending or descending");
      }
      if (!SortTables(index_,
                      {.column = sort->second, .descending = !ascending},
                      totals)) {
        return Refuse(400, absl::StrFormat("No table has the column: sort=%s",
                                           sort->second));
      }
    }
    Json processes = Json::array();
    RunTotals others;
    others.counts.resize(index_.header().events);
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < totals.processes.size(); ++i) {
      const ProcessTotals& row = totals.processes[i];
      if (i < *first || processes.size() >= *top) {
        ++left_out;
        AddTotals(others, row.run);
        continue;
      }
      Json item = RunJson(row.run);
      item["process"] = row.process;
      processes.push_back(std::move(item));
    }
    Json segments = Json::array();
    for (const SegmentTotals& row : page(totals.segments)) {
      segments.push_back(SegmentJson(row));
    }
    Json hooks = Json::array();
    for (const HookTotals& row : page(totals.hooks)) {
      hooks.push_back({{"process", row.process},
                       {"hook", row.hook_id},
                       {"hits", row.hits}});
    }
    return AnswerJson(
        {{"from", *from},
         {"to", *to},
         {"cpu_ns", totals.cpu_ns},
         {"unknown_ns", totals.unknown_ns},
         {"interrupts_ns", totals.interrupts_ns},
         {"processes", std::move(processes)},
         {"processes_left_out", left_out},
         {"others", RunJson(others)},
         {"idle", RunJson(totals.idle)},
         {"outside", RunJson(totals.outside)},
         {"segments", std::move(segments)},
         {"segments_total",
          tables->segments ? Json(totals.segments.size()) : Json(nullptr)},
         {"hooks", std::move(hooks)},
         {"hooks_total",
          tables->hooks ? Json(totals.hooks.size()) : Json(nullptr)}});
  }

  HttpResponse State() {
    const std::optional<std::uint64_t> time_ns = Number("t", std::nullopt);
    if (!time_ns) return Refuse(400, error_);
    const std::optional<std::uint64_t> window_ns = Number("window", 0);
    if (!window_ns) return Refuse(400, error_);
    StateOptions options;
    options.window_ns = *window_ns;
    if (const auto found = target_.parameters.find("threads");
        found != target_.parameters.end()) {
      if (found->second == "active") {
        options.threads = StateThreads::kActive;
      } else if (found->second == "all") {
        options.threads = StateThreads::kAll;
      } else if (found->second != "segments") {
        return Refuse(400,
                      "Parameter threads: expected segments, active or all");
      }
    }
    return AnswerJson(StateJson(StateAt(index_, *time_ns, options)));
  }

  HttpResponse Durations() {
    std::uint64_t numbers[4];
    constexpr std::string_view kNames[] = {"process", "hook", "from", "to"};
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      const std::optional<std::uint64_t> value =
          Number(kNames[i], std::nullopt);
      if (!value) return Refuse(400, error_);
      numbers[i] = *value;
    }
    const auto [process, hook, from, to] = numbers;
    if (from > to) {
      return Refuse(400, absl::StrFormat("Range ends before it begins: "
                                         "from=%d, to=%d",
                                         from, to));
    }
    const auto narrow = [](std::uint64_t number) {
      return static_cast<std::uint32_t>(
          std::min<std::uint64_t>(number, kNoKey));
    };
    const absl::StatusOr<CallDurations> durations =
        DurationsIn(index_, narrow(process), narrow(hook), {from, to});
    if (!durations.ok()) return Refuse(durations.status());
    return AnswerJson(DurationsJson(process, hook, *durations));
  }

  HttpResponse Wait() {
    const std::optional<std::uint64_t> time_ns = Number("t", std::nullopt);
    if (!time_ns) return Refuse(400, error_);
    const std::optional<std::uint64_t> thread = Number("thread", std::nullopt);
    if (!thread) return Refuse(400, error_);
    if (*thread >= index_.threads().size()) {
      return Refuse(404, absl::StrFormat("No such thread: thread=%d", *thread));
    }
    const std::optional<WaitSplit> split =
        SplitWait(index_, static_cast<std::uint32_t>(*thread), *time_ns);
    if (!split) return AnswerJson({{"found", false}});
    return AnswerJson(WaitJson(*thread, *split));
  }

  HttpResponse NextStep() {
    const std::optional<std::uint64_t> time_ns = Number("t", std::nullopt);
    if (!time_ns) return Refuse(400, error_);
    const auto direction = target_.parameters.find("dir");
    if (direction == target_.parameters.end() ||
        (direction->second != "next" && direction->second != "previous")) {
      return Refuse(400, "Parameter dir: expected next or previous");
    }
    std::uint32_t kinds = kStepDispatch | kStepSegment | kStepHook;
    if (const auto found = target_.parameters.find("kind");
        found != target_.parameters.end() && found->second != "any") {
      const std::optional<std::uint32_t> kind = StepKindNamed(found->second);
      if (!kind) {
        return Refuse(400,
                      "Parameter kind: expected dispatch, segment, hook, "
                      "interrupt, loss or any");
      }
      kinds = *kind;
    }
    StepFilter filter;
    if (target_.parameters.contains("row")) {
      const std::optional<std::uint64_t> number = Number("row", std::nullopt);
      if (!number) return Refuse(400, error_);
      if (*number >= index_.rows().size()) {
        return Refuse(404, absl::StrFormat("No such row: row=%d, rows=%d",
                                           *number, index_.rows().size()));
      }
      filter.row = static_cast<std::uint32_t>(*number);
      if (index_.rows()[*filter.row].kind == RowKind::kThreadRun) {
        kinds |= kStepDispatch;
      }
    }
    if (target_.parameters.contains("hook")) {
      const std::optional<std::uint64_t> hook = Number("hook", std::nullopt);
      if (!hook) return Refuse(400, error_);
      filter.hooks = {
          static_cast<std::uint32_t>(std::min<std::uint64_t>(*hook, kNoKey))};
      filter.begins_only = true;
      kinds = kStepSegment | kStepHook | kStepInterrupt;
    }
    const std::optional<Step> step = NearestStep(
        index_, *time_ns, direction->second == "next", kinds, filter);
    if (!step) return AnswerJson({{"found", false}});
    return AnswerJson({{"found", true},
                       {"t", step->time_ns},
                       {"row", step->row},
                       {"kind", KindName(index_.rows()[step->row].kind)},
                       {"owner", index_.rows()[step->row].owner},
                       {"leaf", step->leaf},
                       {"edge", step->at_end ? "end" : "begin"}});
  }

  const TimelineIndex& index_;
  const HttpRequest& request_;
  Target target_;
  std::string error_;
};

}  // namespace

HttpResponse AnswerApi(const TimelineIndex& index, const HttpRequest& request) {
  HttpResponse response = Api(index, request).Answer();
  if (const absl::Status whole = index.CheckWhole(); !whole.ok()) {
    response =
        Refuse(500, absl::StrFormat("The timeline's index is gone, start "
                                    "`countrace view` again: %s",
                                    whole.message()));
  }
  return response;
}

}  // namespace countrace::viewer
