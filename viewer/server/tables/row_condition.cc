#include "viewer/server/tables/row_condition.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "rmap/result/tables.h"
#include "rmap/where/row_fields.h"
#include "rmap/where/row_filter.h"
#include "rmap/where/where_expression.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/index/range/thread_totals.h"
#include "viewer/state/state_page.h"

namespace countrace::viewer {
namespace {

using rmap::ReportBy;
using rmap::where::FindField;
using rmap::where::Operand;
using rmap::where::TableFields;
using rmap::where::WhereExpression;

// What the index has of a window; others would be 0 there, which is no answer.
std::vector<std::string> FieldsInWindow(ReportBy table) {
  switch (table) {
    case ReportBy::kProcess:
      return {"pid", "comm", "parent_pid", "on_cpu_ns", "dispatches"};
    case ReportBy::kThread:
      return {"tid",        "pid",     "comm",      "on_cpu_ns",
              "dispatches", "wait_ns", "blocked_ns"};
    case ReportBy::kSegment:
      return {"segment",        "pid",           "comm",
              "calls",          "wall_ns.incl",  "wall_ns.excl",
              "on_cpu_ns.incl", "on_cpu_ns.excl"};
    default:
      return {};
  }
}

bool IsInWindow(const TableFields& table, const std::string& name) {
  const std::optional<std::size_t> found = FindField(table, name);
  if (!found) return false;
  const std::string& full = table.fields[*found].name;
  const std::vector<std::string> fields = FieldsInWindow(table.table);
  return std::find(fields.begin(), fields.end(), full) != fields.end() ||
         (table.table != ReportBy::kSegment && full.starts_with("counts."));
}

template <typename Visit>
void VisitFields(const WhereExpression& where, Visit visit) {
  for (const auto& step : where.steps) {
    if (step.kind != rmap::where::WhereStep::Kind::kCompare) continue;
    for (const Operand* operand : {&step.left, &step.right}) {
      if (operand->kind == Operand::Kind::kField) visit(*operand);
    }
  }
}

bool HasAll(const TableFields& table, const WhereExpression& where) {
  bool all = true;
  VisitFields(where, [&](const Operand& operand) {
    all &= IsInWindow(table, operand.text);
  });
  return all;
}

// Errors of the report list the fields of all its tables.
absl::Status WithFields(const absl::Status& status) {
  std::string message(status.message());
  message.resize(std::min(message.find("\nfields of "), message.size()));
  for (const auto& [name, table] :
       {std::pair("processes", ReportBy::kProcess),
        std::pair("threads", ReportBy::kThread),
        std::pair("segments", ReportBy::kSegment)}) {
    message += absl::StrFormat("\nfields of %s: %s%s", name,
                               absl::StrJoin(FieldsInWindow(table), ", "),
                               table == ReportBy::kSegment ? "" : ", counts");
  }
  return absl::InvalidArgumentError(message);
}

absl::Status NoSuchField(const WhereExpression& where,
                         const std::vector<TableFields>& tables) {
  const Operand* wrong = nullptr;
  VisitFields(where, [&](const Operand& operand) {
    const bool known = std::any_of(
        tables.begin(), tables.end(),
        [&](const TableFields& one) { return IsInWindow(one, operand.text); });
    if (wrong == nullptr && !known) wrong = &operand;
  });
  if (wrong == nullptr) {
    return WithFields(rmap::where::WhereError(
        where, 0, "no rows of a window have all these fields"));
  }
  return WithFields(rmap::where::WhereError(
      where, wrong->offset,
      absl::StrFormat("rows of a window have no field `%s`",
                      base::EscapeName(wrong->text))));
}

class Selection {
 public:
  Selection(const TimelineIndex& index, TimeRange range)
      : index_(index), range_(range) {
    for (const std::string& event : EventNames(index)) {
      report_.events.push_back({.name = event});
    }
    report_.wakeups = (index.header().flags & kWakeups) != 0;
  }

  absl::StatusOr<SelectedRows> Select(const WhereExpression& where) {
    if (const absl::Status bound = Bind(where); !bound.ok()) return bound;
    if (by_segment()) {
      AddSegments();
    } else {
      AddProcesses();
      AddThreads();
    }
    const auto selected = SelectRows(where, report_);
    if (!selected.ok()) return selected.status();
    return RowsOf(*selected);
  }

  absl::StatusOr<SelectedTables> SelectTables(const WhereExpression& where,
                                              const rmap::Report* reported) {
    if (const absl::Status bound = Bind(where); !bound.ok()) return bound;
    if (reported == nullptr) {
      if (usable_[ReportBy::kProcess]) AddProcesses();
      if (usable_[ReportBy::kThread]) AddThreads();
      if (usable_[ReportBy::kSegment]) AddSegments();
    }
    const rmap::Report& report = reported == nullptr ? report_ : *reported;
    const auto selected = SelectRows(where, report);
    if (!selected.ok()) return selected.status();
    SelectedTables tables;
    tables.of_names = true;
    VisitFields(where, [&](const Operand& operand) {
      tables.of_names &= operand.text == "pid" || operand.text == "comm";
    });
    const auto numbers = [&](ReportBy table, const auto& rows) {
      std::optional<std::vector<bool>> chosen;
      if (!usable_[table]) return chosen;
      chosen.emplace();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto number = static_cast<std::uint32_t>(rows[i].index);
        if (number >= chosen->size()) chosen->resize(number + 1);
        (*chosen)[number] = selected->Of(table).rows[i];
      }
      return chosen;
    };
    tables.processes = numbers(ReportBy::kProcess, report.processes);
    tables.threads = numbers(ReportBy::kThread, report.threads);
    if (!usable_[ReportBy::kSegment]) return tables;
    tables.segments.emplace();
    for (std::size_t i = 0; i < report.segments.size(); ++i) {
      if (!selected->Of(ReportBy::kSegment).rows[i]) continue;
      const rmap::SegmentRow& row = report.segments[i];
      tables.segments->emplace(static_cast<std::uint32_t>(row.process),
                               row.hook_id);
    }
    return tables;
  }

 private:
  bool by_segment() {
    return !usable_[ReportBy::kProcess] && !usable_[ReportBy::kThread] &&
           usable_[ReportBy::kSegment];
  }

  // Finds the tables whose rows have all fields of the condition.
  absl::Status Bind(const WhereExpression& where) {
    const absl::Status checked = CheckWhere(where, report_, ReportBy::kDefault);
    if (!checked.ok()) {
      const bool lists =
          checked.message().find("\nfields of ") != std::string_view::npos;
      return lists ? WithFields(checked) : checked;
    }
    const std::vector<TableFields> tables = rmap::where::FieldsOf(report_);
    for (const TableFields& table : tables) {
      usable_[table.table] = HasAll(table, where);
    }
    if (!by_segment() && !usable_[ReportBy::kProcess] &&
        !usable_[ReportBy::kThread]) {
      return NoSuchField(where, tables);
    }
    return absl::OkStatus();
  }

  SelectedRows RowsOf(const rmap::RowSelection& selected) {
    SelectedRows rows{.processes = std::vector<bool>(index_.processes().size()),
                      .threads = std::vector<bool>(index_.threads().size())};
    const auto chosen = [&](ReportBy table, std::size_t row) {
      return usable_[table] && selected.Of(table).rows[row];
    };
    for (std::size_t i = 0; i < report_.segments.size(); ++i) {
      if (chosen(ReportBy::kSegment, i)) {
        rows.processes[static_cast<std::uint32_t>(
            report_.segments[i].process)] = true;
      }
    }
    for (std::size_t i = 0; i < report_.processes.size(); ++i) {
      if (chosen(ReportBy::kProcess, i)) {
        rows.processes[static_cast<std::uint32_t>(report_.processes[i].index)] =
            true;
      }
    }
    for (std::uint32_t thread = 0; thread < rows.threads.size(); ++thread) {
      const std::uint32_t process = index_.ProcessOf(thread);
      if (process >= rows.processes.size()) continue;
      if (usable_[ReportBy::kThread]) continue;
      rows.threads[thread] = rows.processes[process];
    }
    for (std::size_t i = 0; i < report_.threads.size(); ++i) {
      if (!chosen(ReportBy::kThread, i)) continue;
      const auto thread = static_cast<std::uint32_t>(report_.threads[i].index);
      const std::uint32_t process = index_.ProcessOf(thread);
      rows.threads[thread] = true;
      if (process < rows.processes.size()) rows.processes[process] = true;
    }
    return rows;
  }

  std::string NameOf(std::uint32_t process) const {
    return std::string(index_.Text(index_.processes()[process].comm));
  }
  void SetCounts(const RunTotals& run, rmap::Counts& counts) const {
    for (std::size_t i = 0; i < run.counts.size(); ++i) {
      counts.push_back(run.counts[i]);
    }
  }

  void AddProcesses() {
    RunTotals none;
    none.counts.resize(index_.header().events);
    std::map<std::uint32_t, RunTotals> runs;
    for (ProcessTotals& row :
         TotalsIn(index_, range_, {.segments = false, .hooks = false})
             .processes) {
      runs[row.process] = std::move(row.run);
    }
    for (std::uint32_t i = 0; i < index_.processes().size(); ++i) {
      const ProcessEntry& entry = index_.processes()[i];
      const auto run = runs.find(i);
      const RunTotals& totals = run == runs.end() ? none : run->second;
      rmap::ProcessRow row;
      row.index = static_cast<rmap::ProcessIndex>(i);
      row.pid = entry.pid;
      row.parent_pid = entry.parent_pid;
      row.comm = NameOf(i);
      row.on_cpu_ns = totals.on_cpu_ns;
      row.dispatches = totals.dispatches;
      SetCounts(totals, row.counts);
      report_.processes.push_back(std::move(row));
    }
  }

  void AddThreads() {
    ThreadTotals none;
    none.run.counts.resize(index_.header().events);
    if (report_.wakeups) none.blocked_ns = 0;
    std::map<std::uint32_t, ThreadTotals> runs;
    for (ThreadTotals& row : ThreadsIn(index_, range_)) {
      const std::uint32_t thread = row.thread;
      runs[thread] = std::move(row);
    }
    for (std::uint32_t i = 0; i < index_.threads().size(); ++i) {
      const ThreadEntry& entry = index_.threads()[i];
      const auto run = runs.find(i);
      const ThreadTotals& totals = run == runs.end() ? none : run->second;
      rmap::ThreadRow row;
      row.index = static_cast<rmap::ThreadIndex>(i);
      row.tid = entry.tid;
      row.pid = entry.pid;
      row.comm = std::string(index_.Text(entry.comm));
      row.on_cpu_ns = totals.run.on_cpu_ns;
      row.dispatches = totals.run.dispatches;
      row.wait_ns = totals.wait_ns;
      row.blocked_ns = totals.blocked_ns;
      SetCounts(totals.run, row.counts);
      report_.threads.push_back(std::move(row));
    }
  }

  void AddSegments() {
    std::map<std::uint32_t, std::string> names;
    for (const HookEntry& hook : index_.hooks()) {
      names[hook.id] = std::string(index_.Text(hook.name));
    }
    for (const SegmentTotals& totals :
         TotalsIn(index_, range_, {.segments = true, .hooks = false})
             .segments) {
      if (totals.process >= index_.processes().size()) continue;
      rmap::SegmentRow row;
      row.segment = names[totals.hook_id];
      row.hook_id = totals.hook_id;
      row.process = static_cast<rmap::ProcessIndex>(totals.process);
      row.pid = index_.processes()[totals.process].pid;
      row.comm = NameOf(totals.process);
      row.calls = totals.calls;
      row.wall.incl = totals.wall_incl_ns;
      row.wall.excl = totals.wall_excl_ns;
      if (totals.on_cpu_known) {
        row.on_cpu = {totals.on_cpu_incl_ns, totals.on_cpu_excl_ns};
      }
      row.counts.resize(report_.events.size());
      report_.segments.push_back(std::move(row));
    }
  }

  const TimelineIndex& index_;
  const TimeRange range_;
  rmap::Report report_;
  std::map<ReportBy, bool> usable_;
};

}  // namespace

absl::StatusOr<SelectedRows> SelectIn(const TimelineIndex& index,
                                      TimeRange range, std::string_view where) {
  auto parsed = rmap::where::ParseWhere(where);
  if (!parsed.ok()) return parsed.status();
  return Selection(index, range).Select(*parsed);
}

absl::StatusOr<SelectedTables> SelectTablesIn(const TimelineIndex& index,
                                              TimeRange range,
                                              std::string_view where,
                                              const rmap::Report* report) {
  auto parsed = rmap::where::ParseWhere(where);
  if (!parsed.ok()) return parsed.status();
  return Selection(index, range).SelectTables(*parsed, report);
}

}  // namespace countrace::viewer
