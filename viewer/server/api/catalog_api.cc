#include "viewer/server/api/catalog_api.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "logformat/packet_layout.h"
#include "viewer/index/instant/tile.h"
#include "viewer/index/rows/row_tree.h"
#include "viewer/server/tables/catalog_items.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using logformat::HookOrigin;

const char* OriginName(std::uint16_t origin) {
  switch (static_cast<HookOrigin>(origin)) {
    case HookOrigin::kProgram:
      return "program";
    case HookOrigin::kProbe:
      return "probe";
    case HookOrigin::kKernel:
      return "kernel";
    case HookOrigin::kInterrupt:
      return "interrupt";
  }
  return "unknown";  // of a damaged file
}

class Catalog {
 public:
  Catalog(const TimelineIndex& index, ApiQuery& query)
      : index_(index), query_(query) {}

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
    PutFirstPaint(json);
    return AnswerJson(json);
  }

  HttpResponse Overview() const {
    const std::span<const std::byte> bytes = std::as_bytes(index_.overview());
    return AnswerBinary(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  HttpResponse Processes() {
    const std::vector<bool> hooked = HookedProcesses(index_);
    return PageOrIds(index_.processes().size(), [&](std::uint32_t process) {
      return ProcessItemJson(index_, process, hooked);
    });
  }
  HttpResponse Threads() {
    return PageOrIds(index_.threads().size(), [&](std::uint32_t thread) {
      return ThreadItemJson(index_, thread);
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
                          {"origin", OriginName(hook.origin)},
                          {"calls", calls[hook.id]},
                          {"name", index_.Text(hook.name)},
                          {"location", index_.Text(hook.location)}};
                });
  }
  HttpResponse Rows() {
    return Page(index_.rows(),
                [this](std::uint64_t i, const RowEntry& row) -> Json {
                  if (!IsDrawn(row.kind)) return nullptr;
                  return RowItemJson(index_, static_cast<std::uint32_t>(i));
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

 private:
  // What is drawn before anything else is known.
  void PutFirstPaint(Json& json) const {
    Json rows = Json::array();
    for (std::uint32_t row = 0; row < index_.rows().size(); ++row) {
      const RowKind kind = index_.rows()[row].kind;
      if (kind == RowKind::kQuality || kind == RowKind::kCpu ||
          kind == RowKind::kInterruptTime || kind == RowKind::kInterrupt) {
        rows.push_back(RowItemJson(index_, row));
      }
    }
    const std::vector<std::uint32_t> levels = LevelRows(index_);
    for (const std::uint32_t row :
         std::span(levels).first(std::min(levels.size(), kLevels))) {
      rows.push_back(RowItemJson(index_, row));
    }
    json["levels"] = levels.size();
    json["machine_rows"] = std::move(rows);
    std::vector<std::uint32_t> heaviest = ProcessesByWeight(index_);
    if (heaviest.size() > kHeaviest) heaviest.resize(kHeaviest);
    json["heaviest"] = std::move(heaviest);
    json["hues"] = HuesJson(index_, kHues);
  }

  // Items of ?ids=, in its order, those that are not there left out; else a
  // page.
  template <typename Write>
  HttpResponse PageOrIds(std::size_t size, Write write) {
    if (!query_.Has("ids")) return Page(size, write);
    const auto ids = query_.Numbers("ids", kPageItems);
    if (!ids) return Refuse(400, query_.error());
    Json items = Json::array();
    for (const std::uint64_t id : *ids) {
      if (id >= size) continue;
      Json item = write(static_cast<std::uint32_t>(id));
      if (!item.is_null()) items.push_back(std::move(item));
    }
    return AnswerJson({{"items", std::move(items)}});
  }

  // {"offset", "total", "items"}: kPageItems from ?offset= on.
  template <typename Entry, typename Write>
  HttpResponse Page(std::span<const Entry> entries, Write write) {
    return Page(entries.size(),
                [&](std::uint32_t i) { return write(i, entries[i]); });
  }
  template <typename Write>
  HttpResponse Page(std::size_t size, Write write) {
    const std::optional<std::uint64_t> offset = query_.Number("offset", 0);
    if (!offset) return Refuse(400, query_.error());
    Json items = Json::array();
    const std::uint64_t begin = std::min<std::uint64_t>(*offset, size);
    const std::uint64_t end = std::min<std::uint64_t>(begin + kPageItems, size);
    for (std::uint64_t i = begin; i < end; ++i) {
      Json item = write(static_cast<std::uint32_t>(i));
      if (!item.is_null()) items.push_back(std::move(item));
    }
    return AnswerJson({{"offset", begin},
                       {"next", end},
                       {"total", size},
                       {"items", std::move(items)}});
  }

  const TimelineIndex& index_;
  ApiQuery& query_;
};

}  // namespace

std::optional<HttpResponse> AnswerCatalog(const TimelineIndex& index,
                                          std::string_view name,
                                          ApiQuery& query) {
  Catalog catalog(index, query);
  if (name == "trace") return catalog.Trace();
  if (name == "overview") return catalog.Overview();
  if (name == "processes") return catalog.Processes();
  if (name == "threads") return catalog.Threads();
  if (name == "hooks") return catalog.Hooks();
  if (name == "rows") return catalog.Rows();
  if (name == "losses") return catalog.Losses();
  return std::nullopt;
}

}  // namespace countrace::viewer
