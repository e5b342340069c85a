#include "rmap/columns/report_columns.h"

#include <algorithm>
#include <utility>

#include "base/text/quantity_format.h"
#include "logformat/perf_event_names.h"
#include "rmap/columns/column_cells.h"

namespace countrace::rmap {

namespace {

// One column for each event, for rows with `counts`.
template <typename Row>
void AddCounts(const Report& report, std::vector<Column<Row>>& columns) {
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const std::string& event = report.events[i].name;
    columns.push_back({{"counts", event},
                       event,
                       UnitOfEvent(event),
                       "Count of this event while on a CPU.",
                       [i](const Row& row) -> Cell {
                         if (i >= row.counts.size()) return std::monostate();
                         return FromOptional(row.counts[i]);
                       }});
  }
}

// Details of the counts that are estimates.
template <typename Row>
void AddScaledCounts(const Report& report, std::vector<Column<Row>>& columns) {
  struct Part {
    const char* name;
    Unit unit;
    const char* meaning;
    Cell (*cell)(const ScaledCount&);
  };
  static constexpr Part kParts[] = {
      {"quality", Unit::kQuality, "\"scaled\": its event set was multiplexed.",
       [](const ScaledCount&) -> Cell {
         return std::string(QualityName(Quality::kScaled));
       }},
      {"stderr", Unit::kCount, "Standard error of the count.",
       [](const ScaledCount& count) -> Cell {
         return FromOptional(count.standard_error);
       }},
      {"counted", Unit::kCount, "Count during the rotations of its set.",
       [](const ScaledCount& count) -> Cell { return count.counted; }},
      {"running_ns", Unit::kNanoseconds, "Time on a CPU in those rotations.",
       [](const ScaledCount& count) -> Cell { return count.running; }},
      {"enabled_ns", Unit::kNanoseconds, "Time on a CPU.",
       [](const ScaledCount& count) -> Cell { return count.enabled; }},
      {"slices", Unit::kCount, "Rotations in which it ran.",
       [](const ScaledCount& count) -> Cell { return count.slices; }},
  };
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    if (!report.events[i].scaled) continue;
    for (const Part& part : kParts) {
      const auto cell = part.cell;
      columns.push_back({{"scaled", report.events[i].name, part.name},
                         "",
                         part.unit,
                         part.meaning,
                         [i, cell](const Row& row) -> Cell {
                           if (i >= row.scaled.size() || !row.scaled[i]) {
                             return std::monostate();
                           }
                           return cell(*row.scaled[i]);
                         }});
    }
  }
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

// Whose the processes are; titles where they are needed.
std::vector<Column<ProcessRow>> OwnerColumns(const Report& report) {
  using R = ProcessRow;
  const auto title = [&report](const char* field) {
    return report.processes_by == field ? field : "";
  };
  // Empty: several processes in a row do not share it.
  const auto text = [](const std::string& name) -> Cell {
    if (name.empty()) return std::monostate();
    return name;
  };
  const bool inside = std::any_of(
      report.processes.begin(), report.processes.end(),
      [](const R& r) { return r.own_pid != 0 && r.own_pid != r.pid; });
  return {{{"user"},
           title("user"),
           Unit::kNone,
           "Its real user, as the recorded machine calls it.",
           [text](const R& r) { return text(r.user); }},
          {{"cgroup"},
           title("cgroup"),
           Unit::kNone,
           "Path of its cgroup (v2).",
           [text](const R& r) { return text(r.cgroup); }},
          {{"uid"},
           "",
           Unit::kId,
           "The user's number.",
           [](const R& r) -> Cell {
             if (!r.uid) return std::monostate();
             return std::uint64_t{*r.uid};
           }},
          {{"own_pid"},
           inside ? "own pid" : "",
           Unit::kId,
           "Its number in its own pid namespace (a container's).",
           [](const R& r) -> Cell {
             if (r.own_pid == 0) return std::monostate();
             return Number(r.own_pid);
           }},
          {{"host_pid"},
           "",
           Unit::kId,
           "Its number in the host's pid namespace.",
           [](const R& r) -> Cell {
             if (r.host_pid == 0) return std::monostate();
             return Number(r.host_pid);
           }}};
}

}  // namespace

std::vector<Column<ProcessRow>> ProcessColumns(const Report& report) {
  using R = ProcessRow;
  std::vector<Column<R>> columns = {
      {{"pid"},
       "pid",
       Unit::kId,
       "Process (thread group).",
       [](const R& r) -> Cell {
         if (r.processes > 1) return std::monostate();
         return Number(r.pid);
       }},
      {{"comm"},
       "command",
       Unit::kNone,
       "Name, after the last exec.",
       [](const R& r) -> Cell {
         if (r.processes > 1 && r.comm.empty()) return std::monostate();
         return r.comm;
       }},
      {{"on_cpu_ns"},
       "on-CPU",
       Unit::kNanoseconds,
       "Time its threads were on a CPU.",
       [](const R& r) { return FromOptional(r.on_cpu_ns); }},
      {{"before_exec_ns"},
       "",
       Unit::kNanoseconds,
       "Of on_cpu_ns: under other names, until it called exec.",
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
       [](const R& r) -> Cell {
         std::vector<std::string> programs;
         for (const ProgramTime& program : r.before_exec) {
           programs.push_back(program.comm + " " +
                              std::to_string(program.on_cpu_ns));
         }
         return programs;
       }},
      {{"dispatches"},
       "dispatches",
       Unit::kCount,
       "Times its threads were switched in.",
       [](const R& r) -> Cell { return r.dispatches; }}};
  AddCounts(report, columns);
  AddScaledCounts(report, columns);
  columns.push_back(
      {{"recording_ns"},
       "recording",
       Unit::kNanoseconds,
       "Of on_cpu_ns: what its hooks and probes took, estimated from their "
       "records.",
       [](const R& r) { return FromOptional(r.recording_ns); }});
  AddProbes("Of recording_ns: probes (uprobes, USDT).", columns);
  if (!report.processes_by.empty()) {
    columns.push_back({{"processes"},
                       "processes",
                       Unit::kCount,
                       "Processes in the row.",
                       [](const R& r) -> Cell { return r.processes; }});
  }
  columns.push_back({{"threads"},
                     "threads",
                     Unit::kCount,
                     "Threads it had.",
                     [](const R& r) -> Cell { return r.threads; }});
  std::vector<Column<R>> owners;
  if (report.owners || report.processes_by == "user" ||
      report.processes_by == "cgroup") {
    owners = OwnerColumns(report);
  }
  for (Column<R>& column : owners) {
    // What the rows are for comes first.
    columns.insert(column.title == report.processes_by && !column.title.empty()
                       ? columns.begin()
                       : columns.end(),
                   std::move(column));
  }
  columns.push_back({{"parent_pid"},
                     "",
                     Unit::kId,
                     "Process that forked it.",
                     [](const R& r) -> Cell {
                       if (r.processes > 1) return std::monostate();
                       return Number(r.parent_pid);
                     }});
  columns.push_back(
      {{"marked"},
       "",
       Unit::kCount,
       "1: it is marked (--mark, or of the command).",
       [](const R& r) -> Cell { return std::uint64_t{r.marked ? 1u : 0u}; }});
  columns.push_back({{"first_seen_ns"},
                     "",
                     Unit::kNanoseconds,
                     "Time of its first record.",
                     [](const R& r) -> Cell { return r.first_seen_ns; }});
  columns.push_back({{"last_seen_ns"},
                     "",
                     Unit::kNanoseconds,
                     "Time of its last record.",
                     [](const R& r) -> Cell { return r.last_seen_ns; }});
  columns.push_back(
      {{"quality"},
       "",
       Unit::kQuality,
       "How sure on_cpu_ns, dispatches and counts are.",
       [](const R& r) -> Cell { return std::string(QualityName(r.quality)); }});
  return columns;
}

std::vector<Column<ThreadRow>> ThreadColumns(const Report& report) {
  using R = ThreadRow;
  std::vector<Column<R>> columns = {
      {{"tid"},
       "tid",
       Unit::kId,
       "Thread.",
       [](const R& r) { return Number(r.tid); }},
      {{"pid"},
       "pid",
       Unit::kId,
       "Its process.",
       [](const R& r) { return Number(r.pid); }},
      {{"comm"},
       "command",
       Unit::kNone,
       "Its name.",
       [](const R& r) -> Cell { return r.comm; }},
      {{"on_cpu_ns"},
       "on-CPU",
       Unit::kNanoseconds,
       "Time on a CPU.",
       [](const R& r) { return FromOptional(r.on_cpu_ns); }},
      {{"dispatches"},
       "dispatches",
       Unit::kCount,
       "Times it was switched in.",
       [](const R& r) -> Cell { return r.dispatches; }},
      {{"migrations"},
       "migrations",
       Unit::kCount,
       "Dispatches on another CPU than the one before.",
       [](const R& r) -> Cell { return r.migrations; }},
      {{"wait_ns"},
       "wait",
       Unit::kNanoseconds,
       "Runnable but on no CPU: after preemption or yield, and after "
       "wake-ups if they were recorded (--kernel wakeups).",
       [](const R& r) { return FromOptional(r.wait_ns); }}};
  columns.push_back({{"blocked_ns"},
                     "blocked",
                     Unit::kNanoseconds,
                     "Neither running nor runnable; known if wake-ups were "
                     "recorded.",
                     [](const R& r) { return FromOptional(r.blocked_ns); }});
  AddCounts(report, columns);
  AddScaledCounts(report, columns);
  columns.push_back({{"first_seen_ns"},
                     "",
                     Unit::kNanoseconds,
                     "Time of its first record.",
                     [](const R& r) -> Cell { return r.first_seen_ns; }});
  columns.push_back({{"last_seen_ns"},
                     "",
                     Unit::kNanoseconds,
                     "Time of its last record.",
                     [](const R& r) -> Cell { return r.last_seen_ns; }});
  columns.push_back(
      {{"quality"},
       "",
       Unit::kQuality,
       "How sure on_cpu_ns, dispatches, wait_ns, blocked_ns and counts are.",
       [](const R& r) -> Cell { return std::string(QualityName(r.quality)); }});
  return columns;
}

std::vector<Column<HookRow>> HookColumns(const Report& report) {
  using R = HookRow;
  std::vector<Column<R>> columns = {
      {{"hook"},
       "hook",
       Unit::kNone,
       "provider:name.",
       [](const R& r) -> Cell { return r.hook; }},
      {{"pid"},
       "pid",
       Unit::kId,
       "Process.",
       [](const R& r) { return Number(r.pid); }},
      {{"comm"},
       "command",
       Unit::kNone,
       "Name of the process.",
       [](const R& r) -> Cell { return r.comm; }},
      {{"hits"},
       "hits",
       Unit::kCount,
       "Event records; a call of a segment is two.",
       [](const R& r) -> Cell { return r.hits; }}};
  if (!report.block_points) return columns;
  columns.push_back({{"device"},
                     "device",
                     Unit::kNone,
                     "Block device of the requests: MAJOR:MINOR NAME.",
                     [](const R& r) -> Cell {
                       if (!r.requests) return std::monostate();
                       return r.requests->device;
                     }});
  columns.push_back({{"bytes"},
                     "bytes",
                     Unit::kCount,
                     "Bytes of these requests.",
                     [](const R& r) -> Cell {
                       if (!r.requests) return std::monostate();
                       return r.requests->bytes;
                     }});
  return columns;
}

std::vector<Column<CpuRow>> CpuColumns(const Report& report) {
  using R = CpuRow;
  std::vector<Column<R>> columns = {
      {{"cpu"},
       "cpu",
       Unit::kId,
       "Logical CPU.",
       [](const R& r) -> Cell { return std::uint64_t{r.cpu}; }},
      {{"wall_ns"},
       "wall",
       Unit::kNanoseconds,
       "First to last counter dump; the sum of the next five.",
       [](const R& r) -> Cell { return r.wall_ns; }},
      {{"busy_ns"},
       "busy",
       Unit::kNanoseconds,
       "Ran threads in scope.",
       [](const R& r) -> Cell { return r.busy_ns; }},
      {{"idle_ns"},
       "idle",
       Unit::kNanoseconds,
       "Ran nothing.",
       [](const R& r) -> Cell { return r.idle_ns; }},
      {{"interrupts_ns"},
       "interrupts",
       Unit::kNanoseconds,
       "Did interrupts' work (if they were recorded).",
       [](const R& r) -> Cell { return r.interrupts_ns; }},
      {{"outside_ns"},
       "outside",
       Unit::kNanoseconds,
       "Ran processes outside the scope, or nothing.",
       [](const R& r) -> Cell { return r.outside_ns; }},
      {{"unattributed_ns"},
       "unattributed",
       Unit::kNanoseconds,
       "Records were lost: the thread is unknown.",
       [](const R& r) -> Cell { return r.unattributed_ns; }},
      {{"dispatches"},
       "dispatches",
       Unit::kCount,
       "Dispatches of threads in scope.",
       [](const R& r) -> Cell { return r.dispatches; }}};
  AddCounts(report, columns);
  AddScaledCounts(report, columns);
  return columns;
}

std::vector<Column<BooksRow>> BooksColumns() {
  using R = BooksRow;
  return {
      {{"event"},
       "event",
       Unit::kNone,
       "Event.",
       [](const R& r) -> Cell { return r.event; }},
      {{"total"},
       "total",
       Unit::kCount,
       "Last minus first dump, over all CPUs.",
       [](const R& r) -> Cell { return r.books.total; }},
      {{"processes"},
       "processes",
       Unit::kCount,
       "Counted in threads, but the recorder's.",
       [](const R& r) -> Cell { return r.books.processes; }},
      {{"in_segments"},
       "in segments",
       Unit::kCount,
       "Of processes: inside any segment.",
       [](const R& r) { return FromOptional(r.books.in_segments); }},
      {{"own"},
       "own cost",
       Unit::kCount,
       "Counted in the recorder's process.",
       [](const R& r) -> Cell { return r.books.own; }},
      {{"idle"},
       "idle",
       Unit::kCount,
       "Counted while idle.",
       [](const R& r) -> Cell { return r.books.idle; }},
      {{"interrupts"},
       "interrupts",
       Unit::kCount,
       "Counted in interrupts.",
       [](const R& r) -> Cell { return r.books.interrupts; }},
      {{"outside"},
       "outside",
       Unit::kCount,
       "Counted in what the scope left out.",
       [](const R& r) -> Cell { return r.books.outside; }},
      {{"unattributed"},
       "unattributed",
       Unit::kCount,
       "Counted where records were lost.",
       [](const R& r) -> Cell { return r.books.unattributed; }},
      {{"residual"},
       "residual",
       Unit::kCount,
       "total minus all accounts.",
       [](const R& r) -> Cell { return r.books.residual; }},
      {{"recording", "total"},
       "of it recording",
       Unit::kCount,
       "Of all accounts: what hooks, probes and the recorder's BPF programs "
       "took, estimated.",
       [](const R& r) -> Cell {
         if (!r.books.recording.any()) return std::monostate();
         return r.books.recording.total();
       }},
      {{"recording", "hooks"},
       "",
       Unit::kCount,
       "User hooks: records times what one costs on that machine.",
       [](const R& r) { return FromOptional(r.books.recording.hooks); }},
      {{"recording", "bpf"},
       "",
       Unit::kCount,
       "The recorder's BPF programs, by the kernel's measure.",
       [](const R& r) { return FromOptional(r.books.recording.bpf); }},
      {{"recording", "probes"},
       "",
       Unit::kCount,
       "Probes (uprobes, USDT): hits times what one costs on that machine.",
       [](const R& r) -> Cell {
         if (!r.books.recording.probes) return std::monostate();
         return r.books.recording.probes->ns;
       }},
      {{"recording", "probes_lo"},
       "",
       Unit::kCount,
       "Lower limit of that.",
       [](const R& r) -> Cell {
         if (!r.books.recording.probes) return std::monostate();
         return r.books.recording.probes->lo_ns;
       }},
      {{"recording", "probes_hi"},
       "",
       Unit::kCount,
       "Upper limit.",
       [](const R& r) -> Cell {
         if (!r.books.recording.probes) return std::monostate();
         return r.books.recording.probes->hi_ns;
       }},
      {{"recording", "processes"},
       "",
       Unit::kCount,
       "Of processes: hooks, probes, and what the BPF programs took there.",
       [](const R& r) { return FromOptional(r.books.recording.processes()); }},
      {{"recording", "idle"},
       "",
       Unit::kCount,
       "Of idle.",
       [](const R& r) { return FromOptional(r.books.recording.bpf_idle); }},
      {{"recording", "interrupts"},
       "",
       Unit::kCount,
       "Of interrupts.",
       [](const R& r) {
         return FromOptional(r.books.recording.bpf_interrupts);
       }},
      {{"recording", "unattributed"},
       "",
       Unit::kCount,
       "Of unattributed.",
       [](const R& r) {
         return FromOptional(r.books.recording.bpf_unattributed);
       }},
      {{"recording", "quality"},
       "",
       Unit::kQuality,
       "How sure the estimate is.",
       [](const R& r) -> Cell {
         if (!r.books.recording.any()) return std::monostate();
         return std::string(QualityName(Quality::kScaled));
       }}};
}

std::vector<BooksRow> BooksRows(const Report& report) {
  std::vector<BooksRow> rows;
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    if (!report.books[i].known || i >= report.events.size()) continue;
    rows.push_back({report.events[i].name, report.books[i]});
  }
  return rows;
}

}  // namespace countrace::rmap
