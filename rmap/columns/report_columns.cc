#include "rmap/columns/report_columns.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/text/quantity_format.h"
#include "logformat/perf_event_names.h"
#include "rmap/columns/column_cells.h"

namespace countrace::rmap {

namespace {

// Details of the counts that are estimates.
template <typename Row>
void AddScaledCounts(const Report& report, std::vector<Column<Row>>& columns) {
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const EventColumn& event = report.events[i];
    if (!event.scaled) continue;
    const auto add = [&](const char* name, Unit unit, const char* meaning,
                         const CellAccess<Row>& value, bool is_real = false) {
      columns.push_back(
          {{"scaled", event.name, name}, "", unit, meaning, value, is_real});
    };
    add("quality", Unit::kQuality, "\"scaled\": its event set was multiplexed.",
        [i](const Row& row) {
          const bool is = i < row.scaled.size() && row.scaled[i];
          return is ? CellOf(Quality::kScaled) : Cell();
        });
    add("stderr", Unit::kCount, "Standard error of the count.",
        Item(&Row::scaled, i, &ScaledCount::standard_error),
        /*is_real=*/true);
    add("counted", Unit::kCount, "Count during the rotations of its set.",
        Item(&Row::scaled, i, &ScaledCount::counted));
    add("running_ns", Unit::kNanoseconds, "Time on a CPU in those rotations.",
        Item(&Row::scaled, i, &ScaledCount::running));
    add("enabled_ns", Unit::kNanoseconds, "Time on a CPU.",
        Item(&Row::scaled, i, &ScaledCount::enabled));
    add("slices", Unit::kCount, "Rotations in which it ran.",
        Item(&Row::scaled, i, &ScaledCount::slices));
  }
}

template <typename Row>
void AddSeen(std::vector<Column<Row>>& columns) {
  columns.push_back({{"first_seen_ns"},
                     "",
                     Unit::kNanoseconds,
                     "Time of its first record.",
                     Field(&Row::first_seen_ns)});
  columns.push_back({{"last_seen_ns"},
                     "",
                     Unit::kNanoseconds,
                     "Time of its last record.",
                     Field(&Row::last_seen_ns)});
}

}  // namespace

bool IsOnCpuClock(const std::string& event) {
  return event.rfind("task-clock", 0) == 0 || event.rfind("cpu-clock", 0) == 0;
}

Unit UnitOfEvent(const std::string& event) {
  return IsOnCpuClock(event) || event == logformat::kExecRuntimeEvent
             ? Unit::kNanoseconds
             : Unit::kCount;
}

std::string ScaledText(const ScaledCount& count, Unit unit) {
  const auto text = [unit](std::uint64_t value) {
    return unit == Unit::kNanoseconds
               ? base::FormatNanoseconds(static_cast<double>(value))
               : base::FormatCount(value);
  };
  const std::string value = "~" + text(count.value);
  const auto interval = count.Interval95();
  if (!interval) return value + " +-?";
  const std::uint64_t below = count.value - interval->lo;
  const std::uint64_t above = interval->hi - count.value;
  // Few events: half a width would be wrong on both sides.
  if (above > below + below / 4 && above - below > 1) {
    return value + " [" + text(interval->lo) + ", " + text(interval->hi) + "]";
  }
  return value + " +-" + text(std::max(below, above));
}

namespace {

// Whose the processes are; titles where they are needed. Absent: several
// processes in a row do not share it.
std::vector<Column<ProcessRow>> OwnerColumns(const Report& report) {
  using R = ProcessRow;
  const auto title = [&report](const char* field) {
    return report.rows_by == field ? field : "";
  };
  const bool inside = std::any_of(
      report.processes.begin(), report.processes.end(),
      [](const R& r) { return r.own_pid != 0 && r.own_pid != r.pid; });
  return {{{"user"},
           title("user"),
           Unit::kNone,
           "Its real user, as the recorded machine calls it.",
           OrAbsent(&R::user)},
          {{"cgroup"},
           title("cgroup"),
           Unit::kNone,
           "Path of its cgroup (v2, or v1 of the cpu controller).",
           OrAbsent(&R::cgroup)},
          {{"uid"}, "", Unit::kId, "The user's number.", Field(&R::uid)},
          {{"own_pid"},
           inside ? "own pid" : "",
           Unit::kId,
           "Its number in its own pid namespace (a container's).",
           OrAbsent(&R::own_pid)},
          {{"host_pid"},
           "",
           Unit::kId,
           "Its number in the host's pid namespace.",
           OrAbsent(&R::host_pid)}};
}

void AddOwners(const Report& report, std::vector<Column<ProcessRow>>& columns) {
  if (!report.owners && report.rows_by != "user" &&
      report.rows_by != "cgroup") {
    return;
  }
  for (Column<ProcessRow>& column : OwnerColumns(report)) {
    // What the rows are for comes first.
    columns.insert(column.title == report.rows_by && !column.title.empty()
                       ? columns.begin()
                       : columns.end(),
                   std::move(column));
  }
}

// "make 12000", each.
Cell ProgramsOf(const ProcessRow& row) {
  std::vector<std::string> programs;
  for (const ProgramTime& program : row.before_exec) {
    programs.push_back(program.comm + " " + std::to_string(program.on_cpu_ns));
  }
  return programs;
}
bool SetPrograms(ProcessRow& row, const Cell& cell) {
  std::vector<std::string> programs;
  if (!SetCell(cell, programs)) return false;
  for (const std::string& text : programs) {
    const std::size_t space = text.rfind(' ');
    ProgramTime& program = row.before_exec.emplace_back();
    if (space == text.npos ||
        !absl::SimpleAtoi(text.substr(space + 1), &program.on_cpu_ns)) {
      return false;
    }
    program.comm = text.substr(0, space);
  }
  return true;
}

std::vector<Column<ProcessRow>> DispatchColumns() {
  using R = ProcessRow;
  return {{{"on_cpu_ns"},
           "on-CPU",
           Unit::kNanoseconds,
           "Time its threads were on a CPU.",
           Field(&R::on_cpu_ns)},
          {{"before_exec_ns"},
           "",
           Unit::kNanoseconds,
           "Part of on_cpu_ns: under other names, until it called exec.",
           [](const R& r) -> Cell {
             std::uint64_t ns = 0;
             for (const ProgramTime& program : r.before_exec)
               ns += program.on_cpu_ns;
             return ns;
           }},
          {{"before_exec"},
           "",
           Unit::kNone,
           "These names, with the ns of each.",
           CellPair{ProgramsOf, SetPrograms}},
          {{"dispatches"},
           "dispatches",
           Unit::kCount,
           "Times its threads were switched in.",
           Field(&R::dispatches)}};
}

}  // namespace

std::vector<Column<ProcessRow>> ProcessColumns(const Report& report) {
  using R = ProcessRow;
  std::vector<Column<R>> columns = {
      {{"pid"}, "pid", Unit::kId, "Process (thread group).", Shared(&R::pid)},
      {{"comm"},
       "command",
       Unit::kNone,
       "Name, after the last exec.",
       Shared(&R::comm)}};
  Append(DispatchColumns(), columns);
  AddCounts(report, UnitOfEvent, columns);
  AddScaledCounts(report, columns);
  columns.push_back({{"recording_ns"},
                     "recording",
                     Unit::kNanoseconds,
                     "Part of on_cpu_ns: what its hooks and probes took, "
                     "estimated from their "
                     "records.",
                     Field(&R::recording_ns)});
  AddProbes("Part of recording_ns: probes (uprobes, USDT, kfunc).", columns);
  if (!report.rows_by.empty()) {
    columns.push_back({{"processes"},
                       "processes",
                       Unit::kCount,
                       "Processes in the row.",
                       Field(&R::processes)});
  }
  columns.push_back({{"threads"},
                     "threads",
                     Unit::kCount,
                     "Threads it had.",
                     Field(&R::threads)});
  AddOwners(report, columns);
  columns.push_back({{"parent_pid"},
                     "",
                     Unit::kId,
                     "Process that forked it.",
                     Shared(&R::parent_pid)});
  columns.push_back({{"marked"},
                     "",
                     Unit::kCount,
                     "1: it is marked (--mark, or of the command).",
                     Field(&R::marked)});
  AddSeen(columns);
  columns.push_back({{"quality"},
                     "",
                     Unit::kQuality,
                     "How sure on_cpu_ns, dispatches and counts are.",
                     Field(&R::quality)});
  return columns;
}

std::vector<Column<ThreadRow>> ThreadColumns(const Report& report) {
  using R = ThreadRow;
  std::vector<Column<R>> columns = {
      {{"tid"}, "tid", Unit::kId, "Thread.", Shared(&R::tid)},
      {{"pid"}, "pid", Unit::kId, "Its process.", Shared(&R::pid)},
      {{"comm"}, "command", Unit::kNone, "Its name.", Shared(&R::comm)},
      {{"on_cpu_ns"},
       "on-CPU",
       Unit::kNanoseconds,
       "Time on a CPU.",
       Field(&R::on_cpu_ns)},
      {{"dispatches"},
       "dispatches",
       Unit::kCount,
       "Times it was switched in.",
       Field(&R::dispatches)},
      {{"migrations"},
       "migrations",
       Unit::kCount,
       "Dispatches on another CPU than the one before.",
       Field(&R::migrations)},
      {{"wait_ns"},
       "wait",
       Unit::kNanoseconds,
       "Runnable but on no CPU: after preemption or yield, and after "
       "wake-ups if they were recorded (--kernel wakeups).",
       Field(&R::wait_ns)}};
  columns.push_back({{"throttled_ns"},
                     report.throttled ? "throttled" : "",
                     Unit::kNanoseconds,
                     "Part of wait_ns: from where the CPU quota of its cgroup "
                     "was used up to its next dispatch; known if the trace has "
                     "such a switch.",
                     Field(&R::throttled_ns)});
  columns.push_back({{"blocked_ns"},
                     "blocked",
                     Unit::kNanoseconds,
                     "Neither running nor runnable; known if wake-ups were "
                     "recorded.",
                     Field(&R::blocked_ns)});
  AddCounts(report, UnitOfEvent, columns);
  AddScaledCounts(report, columns);
  AddSeen(columns);
  columns.push_back(
      {{"quality"},
       "",
       Unit::kQuality,
       "How sure on_cpu_ns, dispatches, wait_ns, blocked_ns and counts are.",
       Field(&R::quality)});
  return columns;
}

std::vector<Column<HookRow>> HookColumns(const Report& report) {
  using R = HookRow;
  std::vector<Column<R>> columns = {
      {{"hook"}, "hook", Unit::kNone, "provider:name.", Shared(&R::hook)},
      {{"pid"}, "pid", Unit::kId, "Process.", Shared(&R::pid)},
      {{"comm"},
       "command",
       Unit::kNone,
       "Name of the process.",
       Shared(&R::comm)},
      {{"hits"},
       "hits",
       Unit::kCount,
       "Event records; a call of a segment is two.",
       Field(&R::hits)}};
  if (!report.block_points) return columns;
  columns.push_back({{"device"},
                     "device",
                     Unit::kNone,
                     "Block device of the requests: MAJOR:MINOR NAME.",
                     Field(&R::requests, &R::Requests::device)});
  columns.push_back({{"bytes"},
                     "bytes",
                     Unit::kCount,
                     "Bytes of these requests.",
                     Field(&R::requests, &R::Requests::bytes)});
  return columns;
}

std::vector<Column<CpuRow>> CpuColumns(const Report& report) {
  using R = CpuRow;
  std::vector<Column<R>> columns = {
      {{"cpu"}, "cpu", Unit::kId, "Logical CPU.", Field(&R::cpu)},
      {{"wall_ns"},
       "wall",
       Unit::kNanoseconds,
       "First to last counter dump; the sum of the next five.",
       Field(&R::wall_ns)},
      {{"busy_ns"},
       "busy",
       Unit::kNanoseconds,
       "Ran threads in scope.",
       Field(&R::busy_ns)},
      {{"idle_ns"},
       "idle",
       Unit::kNanoseconds,
       "Ran nothing.",
       Field(&R::idle_ns)},
      {{"interrupts_ns"},
       "interrupts",
       Unit::kNanoseconds,
       "Did interrupts' work (if they were recorded).",
       Field(&R::interrupts_ns)},
      {{"outside_ns"},
       "outside",
       Unit::kNanoseconds,
       "Ran processes outside the scope, or nothing.",
       Field(&R::outside_ns)},
      {{"unattributed_ns"},
       "unattributed",
       Unit::kNanoseconds,
       "Records were lost: the thread is unknown.",
       Field(&R::unattributed_ns)},
      {{"dispatches"},
       "dispatches",
       Unit::kCount,
       "Dispatches of threads in scope.",
       Field(&R::dispatches)}};
  AddCounts(report, UnitOfEvent, columns);
  AddScaledCounts(report, columns);
  return columns;
}

}  // namespace countrace::rmap
