#include "viewer/server/catalog_api.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "logformat/packet_layout.h"
#include "rmap/tables/tables.h"
#include "viewer/index/tile.h"
#include "viewer/server/api_answer.h"
#include "viewer/server/api_bounds.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using logformat::HookOrigin;

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

bool IsDrawn(RowKind kind) {
  return kind < RowKind::kIdleRun || kind == RowKind::kInterrupt ||
         kind == RowKind::kInterruptTime;
}

// Its name does not say so: a program may have a provider `block`.
bool IsOfPrograms(const HookEntry& hook) {
  return hook.origin == static_cast<std::uint16_t>(HookOrigin::kProgram) ||
         hook.origin == static_cast<std::uint16_t>(HookOrigin::kProbe);
}

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
    return AnswerJson(json);
  }

  HttpResponse Overview() const {
    const std::span<const std::byte> bytes = std::as_bytes(index_.overview());
    return AnswerBinary(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  HttpResponse Processes() {
    std::set<std::uint32_t> own;  // hooks in programs
    for (const HookEntry& hook : index_.hooks()) {
      if (IsOfPrograms(hook)) own.insert(hook.id);
    }
    std::vector<bool> hooked(index_.processes().size());
    for (const GroupEntry& group : index_.groups()) {
      if (group.process < hooked.size() && own.contains(group.key)) {
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
                          {"origin", OriginName(hook.origin)},
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
                          {"kind", RowKindName(row.kind)},
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

 private:
  // {"offset", "total", "items"}: kPageItems from ?offset= on.
  template <typename Entry, typename Write>
  HttpResponse Page(std::span<const Entry> entries, Write write) {
    const std::optional<std::uint64_t> offset = query_.Number("offset", 0);
    if (!offset) return Refuse(400, query_.error());
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

  const TimelineIndex& index_;
  ApiQuery& query_;
};

}  // namespace

const char* RowKindName(RowKind kind) {
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
    case RowKind::kInterrupt:
      return "handler";
    default:
      return "other";
  }
}

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
