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

}  // namespace

std::vector<Column<WakerRow>> WakerColumns(const Report& report) {
  using R = WakerRow;
  const RowsOf of = report.wanted.wakers_of;
  const auto text = [](const std::string& value) -> Cell {
    if (value.empty()) return std::monostate();
    return value;
  };
  std::vector<Column<R>> columns = {
      {{"pid"},
       "pid",
       Unit::kId,
       "Process whose threads blocked.",
       [](const R& r) { return Number(r.pid); }},
      {{"comm"},
       "command",
       Unit::kNone,
       "Its name.",
       [](const R& r) -> Cell { return r.comm; }},
      {{"segment"},
       "",
       Unit::kNone,
       "Segment they blocked in, innermost; absent outside segments.",
       [text](const R& r) {
         return text(r.path.empty() ? "" : r.path.back());
       }},
      {{"path"},
       "",
       Unit::kNone,
       "Segments open then, outermost first.",
       [](const R& r) -> Cell { return r.path; }},
      {{"waker", "kind"},
       "",
       Unit::kNone,
       "thread, interrupt, idle (an interrupt of an idle CPU), outside (not "
       "counted), not_told (no wake-up record), still_blocked, "
       "other (of more kinds than are kept).",
       [](const R& r) -> Cell {
         return std::string(WakerKindName(r.waker.kind));
       }},
      {{"waker", "pid"},
       "",
       Unit::kId,
       "Process that woke them, of kind thread.",
       [](const R& r) -> Cell {
         if (!r.waker.pid) return std::monostate();
         return Number(*r.waker.pid);
       }},
      {{"waker", "comm"},
       "",
       Unit::kNone,
       "Its name.",
       [text](const R& r) { return text(r.waker.comm); }},
      {{"waker", "segment"},
       "",
       Unit::kNone,
       "What the waker was in, innermost; absent in no segment.",
       [text](const R& r) { return text(r.waker.segment); }},
      {{"times"},
       "times",
       Unit::kCount,
       "Intervals blocked.",
       [](const R& r) -> Cell { return r.times; }},
      {{"blocked_ns"},
       "blocked",
       Unit::kNanoseconds,
       "Time blocked, over threads.",
       [](const R& r) -> Cell { return r.blocked_ns; }},
      {{"longest_ns"},
       "longest",
       Unit::kNanoseconds,
       "Longest interval.",
       [](const R& r) -> Cell { return r.longest_ns; }},
      {{"blocked_at"},
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
       }},
      {{"quality"},
       "",
       Unit::kQuality,
       "bounded: records were lost meanwhile.",
       [](const R& r) -> Cell { return std::string(QualityName(r.quality)); }}};
  if (!report.wanted.samples) {
    std::erase_if(columns, [](const Column<R>& column) {
      return column.name.front().starts_with("blocked_at");
    });
  }
  if (of == RowsOf::kThread) {
    const auto behind = [&columns](const std::vector<std::string>& name) {
      return 1 + std::find_if(columns.begin(), columns.end(),
                              [&name](const Column<R>& column) {
                                return column.name == name;
                              });
    };
    columns.insert(behind({"waker", "pid"}), {{"waker", "tid"},
                                              "",
                                              Unit::kId,
                                              "The thread.",
                                              [](const R& r) -> Cell {
                                                if (!r.waker.tid)
                                                  return std::monostate();
                                                return Number(*r.waker.tid);
                                              }});
    columns.insert(
        behind({"pid"}),
        {{"tid"}, "tid", Unit::kId, "Thread that blocked.", [](const R& r) {
           return Number(r.tid);
         }});
  } else if (of == RowsOf::kComm) {
    std::erase_if(columns, [](const Column<R>& column) {
      return column.name.back() == "pid";
    });
  }
  return columns;
}

std::vector<Column<WakerRow>> WakerTextColumns(const Report& report) {
  using R = WakerRow;
  std::vector<Column<R>> columns;
  for (const char* name : {"blocked_ns", "times", "longest_ns"}) {
    for (Column<R>& column : WakerColumns(report)) {
      if (column.name.front() == name) columns.push_back(std::move(column));
    }
  }
  columns.push_back(
      {{"process"},
       std::string("blocked ") + OwnerWord(report.wanted.wakers_of),
       Unit::kNone,
       "",
       [](const R& r) -> Cell { return OwnerText(r.comm, r.pid, r.tid); }});
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
         switch (r.waker.kind) {
           case WakerKind::kThread:
             return OwnerText(r.waker.comm, r.waker.pid.value_or(0),
                              r.waker.tid.value_or(0));
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
       }});
  columns.push_back(
      {{"busy"}, "which was in", Unit::kNone, "", [](const R& r) -> Cell {
         return r.waker.segment.empty() ? "-" : r.waker.segment;
       }});
  return columns;
}

}  // namespace countrace::rmap
