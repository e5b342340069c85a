#include "rmap/columns/stored_columns.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "rmap/columns/column_cells.h"

namespace countrace::rmap {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFreedom[] = "Degrees of freedom of the standard error.";

template <typename Row>
struct ColumnList {
  std::vector<Column<Row>> columns{};

  void Add(std::vector<std::string> name, const char* meaning,
           CellAccess<Row> value, Unit unit = Unit::kCount) {
    columns.push_back({std::move(name), "", unit, meaning, std::move(value)});
  }
  void AddReal(std::vector<std::string> name, const char* meaning,
               CellAccess<Row> value, Unit unit = Unit::kCount) {
    Add(std::move(name), meaning, std::move(value), unit);
    columns.back().is_real = true;
  }
};

// Beyond that, more degrees of freedom change nothing, and may be infinite.
template <typename Access>
auto Freedom(Access access) {
  return CellPair{[access](const auto& row) {
                    Cell cell = access(row);
                    auto* const freedom = std::get_if<double>(&cell);
                    if (freedom != nullptr) *freedom = std::min(*freedom, 1e15);
                    return cell;
                  },
                  [access](auto& row, const Cell& cell) {
                    return IsAbsent(cell) || access.Set(row, cell);
                  }};
}

// What the interval of an estimate needs besides its usual columns.
template <typename Row>
std::vector<Column<Row>> ScaledDetails(const Report& report) {
  ColumnList<Row> list;
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const std::string& event = report.events[i].name;
    if (!report.events[i].scaled) continue;
    const auto between = Item(&Row::scaled, i, &ScaledCount::between);
    const auto set = [i, between](Row& row, const Cell& cell) {
      if (!between.Set(row, cell)) return false;
      // The estimate is the count.
      if (!IsAbsent(cell) && i < row.counts.size()) {
        row.scaled[i]->value = row.counts[i].value_or(0);
      }
      return true;
    };
    list.Add({"scaled", event, "between_ns"},
             "Time on a CPU while the sets changed.", CellPair{between, set},
             Unit::kNanoseconds);
    list.AddReal({"scaled", event, "freedom"}, kFreedom,
                 Freedom(Item(&Row::scaled, i, &ScaledCount::freedom)));
  }
  return list.columns;
}

Cell PlacesOf(const WakerRow& row) {
  if (row.places.empty()) return std::monostate();
  Json places = Json::array();
  for (const BlockedPlace& place : row.places) {
    places.push_back({{"functions", place.functions},
                      {"times", place.times},
                      {"blocked_ns", place.blocked_ns}});
  }
  return places.dump(-1, ' ', /*ensure_ascii=*/false,
                     Json::error_handler_t::replace);
}

bool SetPlaces(WakerRow& row, const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return IsAbsent(cell);
  const Json places = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!places.is_array()) return false;
  for (const Json& from : places) {
    const auto has = [&from](const char* name, auto is) {
      return from.is_object() && from.contains(name) && (from[name].*is)();
    };
    if (!has("functions", &Json::is_array) ||
        !has("times", &Json::is_number_unsigned) ||
        !has("blocked_ns", &Json::is_number_unsigned)) {
      return false;
    }
    BlockedPlace& place = row.places.emplace_back();
    place.times = from["times"];
    place.blocked_ns = from["blocked_ns"];
    for (const Json& name : from["functions"]) {
      if (!name.is_string()) return false;
      place.functions.push_back(name.get<std::string>());
    }
  }
  return true;
}

// Books::doubt.
void AddDoubt(ColumnList<BooksRow>& list) {
  using D = BooksDoubt;
  const auto add = [&list](const char* name, std::uint64_t D::*number,
                           const char* meaning, Unit unit = Unit::kCount) {
    list.Add({"doubt", name}, meaning,
             Field(&BooksRow::books, &Books::doubt, number), unit);
  };
  constexpr char kTime[] = "CPU time of these.";
  add("wrapped_intervals", &D::wrapped_intervals,
      "In so many the counter may have wrapped more than once.");
  add("wrapped_ns", &D::wrapped_ns, kTime, Unit::kNanoseconds);
  add("went_back_intervals", &D::went_back_intervals,
      "In so many it was reset, or used by another program.");
  add("went_back_ns", &D::went_back_ns, kTime, Unit::kNanoseconds);
  add("other_mmcr_intervals", &D::other_mmcr_intervals,
      "After so many it counted something else.");
  add("other_mmcr_ns", &D::other_mmcr_ns, kTime, Unit::kNanoseconds);
  add("cut_intervals", &D::cut_intervals, "So many the edges of a part cut.");
  list.Add({"doubt", "cut_counts"},
           "At most so many counts are missing there; absent: any number.",
           CellPair{[](const BooksRow& row) {
                      const std::uint64_t counts = row.books.doubt.cut_counts;
                      return counts == Bounds::kNone ? Cell() : CellOf(counts);
                    },
                    [](BooksRow& row, const Cell& cell) {
                      std::uint64_t& counts = row.books.doubt.cut_counts;
                      counts = Bounds::kNone;
                      return IsAbsent(cell) || SetCell(cell, counts);
                    }});
}

// Books::scaled.
void AddEstimates(ColumnList<BooksRow>& list) {
  using S = ScaledBooks;
  const auto of = [](auto... parts) {
    return Field(&BooksRow::books, &Books::scaled, parts...);
  };
  list.Add({"scaled", "total"}, "Estimated sum of the accounts.",
           of(&S::total));
  list.AddReal({"scaled", "stderr"}, "Standard error of that.",
               of(&S::standard_error));
  list.AddReal({"scaled", "freedom"}, kFreedom, Freedom(of(&S::freedom)));
  for (const auto& [name, account] :
       {std::pair{"processes", &S::processes}, std::pair{"own", &S::own},
        std::pair{"idle", &S::idle}, std::pair{"interrupts", &S::interrupts},
        std::pair{"outside", &S::outside},
        std::pair{"unattributed", &S::unattributed}}) {
    list.Add({"scaled", name}, "The account as if counted all the time.",
             of(account));
  }
  list.Add({"scaled", "running_ns"}, "CPU time in which it was counted.",
           of(&S::running_ns), Unit::kNanoseconds);
  list.Add({"scaled", "enabled_ns"}, "All of it.", of(&S::enabled_ns),
           Unit::kNanoseconds);
  list.Add({"scaled", "tasks"}, "Estimate of processes and own as one.",
           of(&S::tasks, &ScaledCount::value));
  list.AddReal({"scaled", "tasks_stderr"}, "Standard error of that.",
               of(&S::tasks, &ScaledCount::standard_error));
}

}  // namespace

std::vector<Column<EventRow>> EventTableColumns() {
  using R = EventRow;
  ColumnList<R> list;
  list.Add({"event"}, "Its name.", Field(&R::event, &EventColumn::name),
           Unit::kNone);
  list.Add({"scaled"}, "1: it was multiplexed, its counts are estimates.",
           Field(&R::event, &EventColumn::scaled));
  list.Add({"books"},
           "1: CPUs counted it, so that it can have books; 0: hooks alone.",
           Field(&R::has_books));
  return list.columns;
}

std::vector<EventRow> EventRows(const Report& report) {
  std::vector<EventRow> rows;
  for (const EventColumn& event : report.events) {
    rows.push_back({event, rows.size() < report.books.size()});
  }
  return rows;
}

std::vector<Column<ProcessRow>> StoredColumns(const Report& report,
                                              const ProcessRow*) {
  return ScaledDetails<ProcessRow>(report);
}
std::vector<Column<ThreadRow>> StoredColumns(const Report& report,
                                             const ThreadRow*) {
  return ScaledDetails<ThreadRow>(report);
}
std::vector<Column<CpuRow>> StoredColumns(const Report& report, const CpuRow*) {
  return ScaledDetails<CpuRow>(report);
}

std::vector<Column<SegmentRow>> StoredColumns(const Report& report,
                                              const SegmentRow*) {
  using R = SegmentRow;
  using E = SegmentEstimate;
  ColumnList<R> list;
  list.AddReal({"wall_ns", "exact_mean"}, "wall_ns.mean, not rounded.",
               Field(&R::wall, &TimeStatistics::mean), Unit::kNanoseconds);
  list.AddReal({"wall_ns", "exact_stddev"}, "wall_ns.stddev, not rounded.",
               Field(&R::wall, &TimeStatistics::stddev), Unit::kNanoseconds);
  list.Add({"location"},
           "file:line of its hooks, if some of its calls have no exit.",
           Field(&R::location), Unit::kNone);
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const std::string& event = report.events[i].name;
    if (!report.events[i].scaled) continue;
    const auto of = [i](auto part) {
      return Item(&R::counts, i, &SegmentCount::estimate, part);
    };
    list.Add({"counts", event, "running"},
             "Calls, or ns, in which it was counted.", of(&E::running));
    list.Add({"counts", event, "enabled"}, "All calls, or ns.",
             of(&E::enabled));
    list.Add({"counts", event, "of_unseen"},
             "1: its error is that of calls that were not counted.",
             of(&E::of_unseen));
    list.AddReal({"counts", event, "freedom"}, kFreedom,
                 Freedom(of(&E::freedom)));
    list.AddReal({"counts", event, "excl_freedom"}, "The same of excl.",
                 Freedom(of(&E::excl_freedom)));
  }
  return list.columns;
}

std::vector<Column<WakerRow>> StoredColumns(const Report& report,
                                            const WakerRow*) {
  ColumnList<WakerRow> list;
  if (!report.wanted.samples) return {};
  list.Add({"blocked_places"},
           "All that blocked_at has the first of, as JSON: functions, times, "
           "blocked_ns.",
           CellPair{PlacesOf, SetPlaces}, Unit::kNone);
  return list.columns;
}

std::vector<Column<BooksRow>> StoredColumns(const Report&, const BooksRow*) {
  ColumnList<BooksRow> list;
  list.Add(
      {"recording", "bpf_processes"},
      "Part of recording.bpf: inside processes.",
      Field(&BooksRow::books, &Books::recording, &Recording::bpf_processes));
  AddDoubt(list);
  AddEstimates(list);
  return list.columns;
}

}  // namespace countrace::rmap
