// Columns for the causes that ended blocked time.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text/quantity_format.h"
#include "rmap/columns/column_cells.h"
#include "rmap/columns/owner_text.h"
#include "rmap/columns/report_columns.h"

namespace countrace::rmap {

namespace {

// "pthread_mutex_lock < Lock < Serve".
std::string FunctionsText(const BlockedPlace& place) {
  std::string text;
  for (const std::string& name : place.functions) {
    text += (text.empty() ? "" : " < ") + name;
  }
  return text;
}

// "... (80 %)"; without a share if it is the only place.
std::string PlaceText(const WakerRow& row) {
  const BlockedPlace& place = row.places.front();
  const std::string text = FunctionsText(place);
  if (place.times == row.times) return text;
  return text + " (" + base::FormatShare(place.blocked_ns, row.blocked_ns) +
         ")";
}

std::string CauseText(const WakerRow::By& waker) {
  switch (waker.kind) {
    case WakerKind::kThread:
      return OwnerText(waker.comm, waker.pid.value_or(0),
                       waker.tid.value_or(0));
    case WakerKind::kInterrupt:
      return "[an interrupt]";
    case WakerKind::kIdle:
      return "[an idle CPU's interrupt]";
    case WakerKind::kOutside:
      return "[outside]";
    case WakerKind::kNotTold:
      return "[no wake-up record]";
    case WakerKind::kStillBlocked:
      return "[still blocked]";
    case WakerKind::kOther:
      return "[others]";
  }
  return "";
}

// Who blocked where.
std::vector<Column<WakerRow>> BlockedColumns(RowsOf of) {
  using R = WakerRow;
  std::vector<Column<R>> columns = {{{"pid"},
                                     "pid",
                                     Unit::kId,
                                     "Process whose threads blocked.",
                                     Shared(&R::pid)}};
  if (of == RowsOf::kThread) {
    columns.push_back(
        {{"tid"}, "tid", Unit::kId, "Thread that blocked.", Shared(&R::tid)});
  }
  Append<R>({{{"comm"}, "command", Unit::kNone, "Its name.", Shared(&R::comm)},
             {{"segment"},
              "",
              Unit::kNone,
              "Segment they blocked in, innermost; absent outside segments.",
              [](const R& r) {
                return NameOrAbsent(r.path.empty() ? "" : r.path.back());
              }},
             {{"path"},
              "",
              Unit::kNone,
              "Segments open then, outermost first.",
              Shared(&R::path)}},
            columns);
  return columns;
}

// What ended it.
std::vector<Column<WakerRow>> CauseColumns(RowsOf of) {
  using R = WakerRow;
  std::vector<Column<R>> columns = {
      {{"waker", "kind"},
       "",
       Unit::kNone,
       "thread, interrupt, idle (an interrupt of an idle CPU), outside (not "
       "counted), not_told (no wake-up record), still_blocked, "
       "other (of more kinds than are kept).",
       KindCell(&R::waker, WakerKindName, WakerKind::kOther)}};
  columns.push_back({{"waker", "pid"},
                     "",
                     Unit::kId,
                     "Process that woke them, of kind thread.",
                     Field(&R::waker, &R::By::pid)});
  if (of == RowsOf::kThread) {
    columns.push_back({{"waker", "tid"},
                       "",
                       Unit::kId,
                       "The thread.",
                       Field(&R::waker, &R::By::tid)});
  }
  Append<R>({{{"waker", "comm"},
              "",
              Unit::kNone,
              "Its name.",
              OrAbsent(&R::waker, &R::By::comm)},
             {{"waker", "segment"},
              "",
              Unit::kNone,
              "What the waker was in, innermost; absent in no segment.",
              OrAbsent(&R::waker, &R::By::segment)}},
            columns);
  return columns;
}

// The functions where they blocked most.
std::vector<Column<WakerRow>> FunctionColumns() {
  using R = WakerRow;
  return {{{"blocked_at"},
           "",
           Unit::kNone,
           "Innermost functions where they blocked most, as far as stacks are "
           "recorded (record --offcpu).",
           [](const R& r) -> Cell {
             if (r.places.empty()) return std::monostate();
             return FunctionsText(r.places.front());
           }},
          {{"blocked_at_ns"},
           "",
           Unit::kNanoseconds,
           "Their part of blocked_ns.",
           [](const R& r) -> Cell {
             if (r.places.empty()) return std::monostate();
             return r.places.front().blocked_ns;
           }}};
}

}  // namespace

std::vector<Column<WakerRow>> WakerColumns(const Report& report) {
  using R = WakerRow;
  std::vector<Column<R>> columns = BlockedColumns(report.wanted.wakers_of);
  Append(CauseColumns(report.wanted.wakers_of), columns);
  Append<R>({{{"times"},
              "times",
              Unit::kCount,
              "Intervals blocked.",
              Field(&R::times)},
             {{"blocked_ns"},
              "blocked",
              Unit::kNanoseconds,
              "Time blocked, over threads.",
              Field(&R::blocked_ns)},
             {{"longest_ns"},
              "longest",
              Unit::kNanoseconds,
              "Longest interval.",
              Field(&R::longest_ns)}},
            columns);
  if (report.wanted.samples) Append(FunctionColumns(), columns);
  columns.push_back({{"quality"},
                     "",
                     Unit::kQuality,
                     "bounded: records were lost meanwhile.",
                     Field(&R::quality)});
  return columns;
}

std::vector<Column<WakerRow>> WakerTextColumns(
    const Report& report, const std::vector<Column<WakerRow>>& all) {
  using R = WakerRow;
  std::vector<Column<R>> columns;
  for (const char* name : {"blocked_ns", "times", "longest_ns", "rows"}) {
    for (const Column<R>& column : all) {
      if (column.name.front() == name) columns.push_back(column);
    }
  }
  columns.push_back({{"process"},
                     "blocked " + OwnerWord(report, report.wanted.wakers_of),
                     Unit::kNone,
                     "",
                     [](const R& r) -> Cell { return OwnerText(r); }});
  columns.push_back({{"place"}, "in", Unit::kNone, "", [](const R& r) -> Cell {
                       std::string place;
                       for (const std::string& name : r.path) {
                         place += (place.empty() ? "" : " > ") + name;
                       }
                       return place.empty() ? "-" : place;
                     }});
  if (std::any_of(report.wakers.begin(), report.wakers.end(),
                  [](const R& r) { return !r.places.empty(); })) {
    columns.push_back(
        {{"blocked_at"}, "blocked at", Unit::kNone, "", [](const R& r) -> Cell {
           return r.places.empty() ? "-" : PlaceText(r);
         }});
  }
  columns.push_back(
      {{"woken"}, "woken by", Unit::kNone, "", [](const R& r) -> Cell {
         return CauseText(r.waker);
       }});
  columns.push_back(
      {{"busy"}, "which was in", Unit::kNone, "", [](const R& r) -> Cell {
         return r.waker.segment.empty() ? "-" : r.waker.segment;
       }});
  return columns;
}

}  // namespace countrace::rmap
