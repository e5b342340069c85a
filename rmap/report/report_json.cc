#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "rmap/columns/chosen_columns.h"
#include "rmap/report/report_views.h"
#include "rmap/report/selection_json.h"
#include "rmap/tables/bounds/bounds_summary.h"

namespace countrace::rmap {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "countrace.report/1";

// Reserves room for its members: growing copies all members, whole tables
// included, since their names are constant.
Json ObjectOf(std::size_t members) {
  Json object = Json::object();
  object.get_ref<Json::object_t&>().reserve(members);
  return object;
}

Json ToJson(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell);
}

// The intervals of a row's numbers that are not exact; no upper bound is null.
Json BoundsObject(const EventColumns& events, const RowBounds& bounds) {
  Json object = ObjectOf(bounds.entries().size());
  for (const auto& [number, interval] : bounds.entries()) {
    object[NumberName(events, number)] = {
        interval.lo, interval.hi == Bounds::kNone ? Json() : Json(interval.hi)};
  }
  return object;
}

template <typename Row>
Json RowObject(const EventColumns& events,
               const std::vector<Column<Row>>& columns, const Row& row) {
  Json object = ObjectOf(columns.size() + 3);
  for (const Column<Row>& column : columns) {
    const Cell cell = column.value(row);
    const bool absent = std::holds_alternative<std::monostate>(cell);
    const std::string& group = column.name.front();
    if (absent && group == "counts") {
      if (!object.contains(group)) object[group] = Json::object();
      continue;
    }
    if (absent && column.name.size() > 1) {
      if (!object.contains(group)) object[group] = nullptr;
      continue;
    }
    Json* place = &object;
    for (const std::string& name : column.name) place = &(*place)[name];
    *place = ToJson(cell);
  }
  if constexpr (requires { row.before_exec; }) {
    if (object.contains("before_exec")) {
      Json& programs = object["before_exec"] = Json::array();
      for (const ProgramTime& program : row.before_exec) {
        programs.push_back(
            {{"comm", program.comm}, {"on_cpu_ns", program.on_cpu_ns}});
      }
    }
  }
  if constexpr (requires { row.counts; }) {
    if (!object.contains("counts")) object["counts"] = Json::object();
  }
  if constexpr (requires { row.bounds; }) {
    if (row.qualities.any()) object["qualities"] = row.qualities.Names();
    if (!row.bounds.empty()) {
      object["bounds"] = BoundsObject(events, row.bounds);
    }
  }
  return object;
}

Json HostObject(const ReportHost& host) {
  Json object = {{"host", host.name},
                 {"path", host.path},
                 {"clock", host.clock},
                 {"offset_ns", host.offset_ns},
                 {"drift_ppb", host.drift_ppb},
                 {"within_ns", host.within_ns},
                 {"begin_ns", host.begin_ns},
                 {"end_ns", host.end_ns},
                 {"cpus", host.cpus},
                 {"records", host.records},
                 {"discarded_events", host.loss.discarded_events}};
  if (host.least_drift_ppb != host.most_drift_ppb) {
    object["bounds"] = {
        {"drift_ppb", {host.least_drift_ppb, host.most_drift_ppb}}};
  }
  return object;
}

Json TraceObject(const Report& report) {
  Json trace = {{"path", report.path},
                {"scope", report.scope},
                {"count", report.count},
                {"marks", report.marks},
                {"command", report.command},
                {"hostname", report.hostname},
                {"kernel_release", report.kernel_release},
                {"begin_ns", report.begin_ns},
                {"end_ns", report.end_ns},
                {"left_out_ns", report.left_out_ns},
                {"cpus", report.cpus},
                {"events", EventNames(report.events)},
                {"records", report.records},
                {"finished", report.finished},
                {"interrupted", report.interrupted},
                {"late_sub_buffers", report.late_sub_buffers},
                {"own_bpf_ns", report.own_cost.bpf_sampled_ns == 0
                                   ? Json()
                                   : Json(report.own_cost.bpf_ns)},
                {"own_bpf_sampled_ns", report.own_cost.bpf_sampled_ns}};
  for (const ReportHost& host : report.hosts) {
    trace["hosts"].push_back(HostObject(host));
  }
  if (!report.source.empty()) {
    trace["source"] = report.source;
    trace["not_known"] = report.not_known;
  }
  return trace;
}

template <typename Value>
Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json ScaledObject(const ScaledBooks& books) {
  return {{"quality", QualityName(Quality::kScaled)},
          {"total", books.total},
          {"stderr", OrNull(books.standard_error)},
          {"processes", OrNull(books.processes)},
          {"own", OrNull(books.own)},
          {"idle", OrNull(books.idle)},
          {"interrupts", OrNull(books.interrupts)},
          {"outside", OrNull(books.outside)},
          {"unattributed", OrNull(books.unattributed)},
          {"running_ns", books.running_ns},
          {"enabled_ns", books.enabled_ns}};
}

Json LossObject(const Report& report) {
  const Loss& loss = report.loss;
  const BoundsSummary bounds = SummaryOfBounds(report);
  Json by_cause = Json::object();
  for (const auto& [cause, records] : loss.by_cause) by_cause[cause] = records;
  const logformat::LossStatement statement = logformat::StateLoss(loss);
  Json out = {{"text", statement.text}, {"is_loss", statement.is_loss}};
  for (const auto& [name, number] : statement.numbers) out[name] = number;
  out["by_cause"] = by_cause;
  out["inexact"] = {{"numbers", bounds.numbers},
                    {"without_limit", bounds.without_limit},
                    {"mean_width", bounds.mean_width}};
  out["messages"] = loss.messages;
  return out;
}

// The counter was in doubt: the account holds lower bounds.
Json DoubtObject(const BooksDoubt& doubt) {
  Json object = {{"quality", QualityName(Quality::kBounded)},
                 {"wrapped_intervals", doubt.wrapped_intervals},
                 {"wrapped_ns", doubt.wrapped_ns},
                 {"went_back_intervals", doubt.went_back_intervals},
                 {"went_back_ns", doubt.went_back_ns},
                 {"other_mmcr_intervals", doubt.other_mmcr_intervals},
                 {"other_mmcr_ns", doubt.other_mmcr_ns}};
  if (doubt.cut_intervals != 0) {
    object["cut_intervals"] = doubt.cut_intervals;
    object["cut_counts"] =
        doubt.cut_counts == Bounds::kNone ? Json() : Json(doubt.cut_counts);
  }
  return object;
}

// Calls `begin(name, has_rows)`, `row(name, object)` for each row, `end(name,
// has_rows)`, for each table that `by` selects. Row by row: as one document, a
// hundred thousand rows would take gigabytes. Without rows: not recorded.
template <typename Begin, typename OnRow, typename End>
void VisitJson(const Report& report, const RenderOptions& options,
               const Begin& begin, const OnRow& on_row, const End& end) {
  const RowSelection* const selection = options.selection;
  VisitTables(report, [&](const auto& table, const auto& all,
                          const auto& rows) {
    if (options.by != ReportBy::kDefault && options.by != table.by) return;
    if (selection != nullptr && !selection->Of(table.by).applies()) return;
    const auto columns = ChosenColumns(all, options.columns);
    if (columns.empty()) return;
    // null: not recorded; an empty table would mean "none".
    const bool recorded = IsRecorded(table, report);
    begin(table.name, recorded);
    if (recorded) {
      std::decay_t<decltype(rows)> kept;
      for (const auto& row : SelectedRows(rows, selection, table.by, kept)) {
        on_row(table.name, RowObject(report.events, columns, row));
      }
    }
    end(table.name, recorded);
  });
}

std::string Line(const std::string& table, const Json& row) {
  Json object = {{"table", table}};
  object.update(row);
  return DumpJson(object, -1) + "\n";
}

// As nlohmann prints it inside a document, `depth` levels deep. Line breaks in
// texts are escaped, so each one is of the layout.
void AppendInside(std::string& out, const Json& value, std::size_t depth) {
  for (const char c : DumpJson(value, 1)) {
    out += c;
    if (c == '\n') out.append(depth, ' ');
  }
}

void AppendName(std::string& out, const std::string& name) {
  out += out == "{" ? "\n " : ",\n ";
  out += DumpJson(Json(name), -1) + ": ";
}

void AppendMember(std::string& out, const std::string& name,
                  const Json& value) {
  AppendName(out, name);
  AppendInside(out, value, 1);
}

void GivePart(const TextParts& parts, std::string& out) {
  constexpr std::size_t kPartBytes = 64 << 10;
  if (!parts || out.size() < kPartBytes) return;
  parts(out);
  out.clear();
}

}  // namespace

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true,
                   Json::error_handler_t::replace);
}

void ForEachJsonRow(const Report& report, const RenderOptions& options,
                    const std::function<void(const Json&)>& on_row) {
  const auto nothing = [](const std::string&, bool) {};
  VisitJson(
      report, options, nothing,
      [&](const std::string&, const Json& row) { on_row(row); }, nothing);
}

std::string RenderJson(const Report& report, const RenderOptions& options,
                       const TextParts& parts) {
  std::string out = "{";
  AppendMember(out, "schema", kSchema);
  AppendMember(out, "trace", TraceObject(report));
  if (options.selection != nullptr) {
    AppendMember(out, "where", where::SelectionObject(*options.selection));
  }
  bool any_row = false;
  VisitJson(
      report, options,
      [&](const std::string& name, bool recorded) {
        AppendName(out, name);
        out += recorded ? "[" : "null";
        any_row = false;
      },
      [&](const std::string&, const Json& row) {
        out += any_row ? ",\n  " : "\n  ";
        any_row = true;
        AppendInside(out, row, 2);
        GivePart(parts, out);
      },
      [&](const std::string&, bool recorded) {
        if (recorded) out += any_row ? "\n ]" : "]";
      });
  Json books = Json::object();
  for (const BooksRow& row : BooksRows(report)) {
    Json account = RowObject(report.events, BooksColumns(), row);
    account.erase("event");
    if (row.books.scaled) account["scaled"] = ScaledObject(*row.books.scaled);
    if (row.books.doubt.any()) account["doubt"] = DoubtObject(row.books.doubt);
    books[row.event] = std::move(account);
  }
  AppendMember(out, "books", books);
  AppendMember(out, "loss", LossObject(report));
  out += "\n}\n";
  return out;
}

std::string RenderJsonLines(const Report& report, const RenderOptions& options,
                            const TextParts& parts) {
  Json trace = {{"schema", kSchema}};
  trace.update(TraceObject(report));
  std::string out = Line("trace", trace);
  if (options.selection != nullptr) {
    out += Line("where", where::SelectionObject(*options.selection));
  }
  const auto nothing = [](const std::string&, bool) {};
  VisitJson(
      report, options, nothing,
      [&](const std::string& name, const Json& row) {
        out += Line(name, row);
        GivePart(parts, out);
      },
      nothing);
  for (const BooksRow& row : BooksRows(report)) {
    Json account = RowObject(report.events, BooksColumns(), row);
    if (row.books.scaled) account["scaled"] = ScaledObject(*row.books.scaled);
    if (row.books.doubt.any()) account["doubt"] = DoubtObject(row.books.doubt);
    out += Line("books", account);
  }
  out += Line("loss", LossObject(report));
  return out;
}

}  // namespace countrace::rmap
