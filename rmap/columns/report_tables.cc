#include "rmap/columns/report_tables.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/strings/numbers.h"
#include "logformat/read/call_flags.h"

namespace countrace::rmap {
namespace {

Table<ProcessRow> Processes() {
  return {.by = ReportBy::kProcess,
          .option = "process",
          .name = "processes",
          .title = "PROCESSES",
          .meaning = "Processes (thread groups) that ran or existed.",
          .rows = &Report::processes,
          .columns = ProcessColumns,
          .sum = "on_cpu_ns",
          .order = {"on_cpu_ns"}};
}

Table<ThreadRow> Threads() {
  return {.by = ReportBy::kThread,
          .option = "thread",
          .name = "threads",
          .title = "THREADS",
          .meaning = "Threads that ran or existed.",
          .rows = &Report::threads,
          .columns = ThreadColumns,
          .sum = "on_cpu_ns",
          .order = {"on_cpu_ns"}};
}

Table<SegmentRow> Segments() {
  return {.by = ReportBy::kSegment,
          .option = "segment",
          .name = "segments",
          .title = "SEGMENTS",
          .meaning = "Calls of a segment in a process.",
          .rows = &Report::segments,
          .columns = [](const Report& r) { return SegmentColumns(r, false); },
          .sum = "on_cpu_ns.excl",
          .or_sum = "wall_ns.excl",
          .keys = {"segment"},
          .order = {"on_cpu_ns.incl", "wall_ns.incl"}};
}

Table<SegmentRow> Paths() {
  return {.by = ReportBy::kPath,
          .option = "path",
          .name = "segment_paths",
          .title = "SEGMENTS by call path",
          .meaning = "Calls of a segment in a process, by what was open then.",
          .rows = &Report::segment_paths,
          .columns = [](const Report& r) { return SegmentColumns(r, true); },
          .sum = "on_cpu_ns.excl",
          .or_sum = "wall_ns.excl",
          .keys = {"segment", "path"},
          .order = {"on_cpu_ns.incl", "wall_ns.incl"}};
}

Table<HookRow> Hooks() {
  return {.by = ReportBy::kHook,
          .option = "hook",
          .name = "hooks",
          .title = "HOOKS",
          .meaning = "Event records of a hook in a process.",
          .rows = &Report::hooks,
          .columns = HookColumns,
          .sum = "hits",
          .keys = {"hook", "device"},
          .order = {"hits"}};
}

Table<WakerRow> Wakers() {
  return {.by = ReportBy::kWaker,
          .option = "waker",
          .name = "wakers",
          .title = "WAKERS: what ended blocked time",
          .meaning =
              "Blocked time of a process (or thread), by where it "
              "blocked and what ended that.",
          .rows = &Report::wakers,
          .columns = WakerColumns,
          .sum = "blocked_ns",
          .keys = {"path", "waker.kind", "waker.comm", "waker.segment"},
          .order = {"blocked_ns", "times"},
          .recorded = [](const Report& r) { return r.wakeups; },
          .not_recorded =
              "no wake-ups were recorded: record --kernel wakeups "
              "shows what ended blocked time"};
}

Table<PreemptorRow> Preemptors() {
  return {
      .by = ReportBy::kPreemptor,
      .option = "preemptor",
      .name = "preemptors",
      .title = "PREEMPTORS: what had the CPU of waiting threads",
      .meaning = "Waiting time of a thread (or process), by what had its CPU.",
      .rows = &Report::preemptors,
      .columns = PreemptorColumns,
      .sum = "wait_ns",
      .keys = {"preemptor.kind", "preemptor.comm"},
      .order = {"wait_ns", "times"},
      .recorded = [](const Report& r) { return r.wanted.preemptors; }};
}

Table<SystemCallRow> SystemCalls() {
  return {.by = ReportBy::kSystemCall,
          .option = "syscall",
          .name = "syscalls",
          .title = "SYSTEM CALLS",
          .meaning = "Calls of a system call, over all processes.",
          .rows = &Report::system_call_rows,
          .columns = SystemCallColumns,
          .sum = "wall_ns.incl",
          .recorded = [](const Report& r) { return r.system_calls; },
          .not_recorded =
              "no system calls were recorded: record --kernel "
              "syscalls shows them"};
}

Table<CpuRow> Cpus() {
  return {.by = ReportBy::kCpu,
          .option = "cpu",
          .name = "cpus",
          .title = "CPUS",
          .meaning = "Logical CPUs, and what they did.",
          .rows = &Report::cpu_rows,
          .columns = CpuColumns,
          .sum = "wall_ns"};
}

}  // namespace

const char* UnitName(Unit unit) {
  constexpr const char* kNames[] = {"text", "id", "count", "ns", "quality"};
  return kNames[static_cast<std::size_t>(unit)];
}

const TableList& AllTables() {
  static const TableList& tables =
      *new TableList(Processes(), Threads(), Segments(), Paths(), Hooks(),
                     Wakers(), Preemptors(), SystemCalls(), Cpus(),
                     FaultTable(), FileTable(), LevelTable());
  return tables;
}

const Table<SampleRow>& SamplesTable() {
  static const auto& table =
      *new Table<SampleRow>{.by = ReportBy::kSample,
                            .option = "function",
                            .name = "samples",
                            .meaning = "Samples, by where their code is.",
                            .columns = SampleColumns,
                            .sum = "self"};
  return table;
}

const Table<TreeRow>& TreesTable() {
  static const auto& table = *new Table<TreeRow>{
      .by = ReportBy::kTree,
      .option = "tree",
      .name = "tree",
      .meaning = "Counts as parts of parts, by rules that nest.",
      .columns = TreeColumns,
      .sum = "count"};
  return table;
}

const char* TableName(ReportBy by) {
  const char* name = by == ReportBy::kSample ? SamplesTable().name
                     : by == ReportBy::kTree ? TreesTable().name
                                             : "";
  ForEachTable([&](const auto& table) {
    if (table.by == by) name = table.name;
  });
  return name;
}

const char* NotRecorded(ReportBy by, const Report& report) {
  const char* message = "";
  ForEachTable([&](const auto& table) {
    if (table.by == by && !IsRecorded(table, report)) {
      message = table.not_recorded;
    }
  });
  return message;
}

std::string ValueText(const logformat::NamedValues& of, const std::string& hook,
                      const std::string& text) {
  const auto names = of.numbers.find(hook);
  std::int64_t number = 0;
  std::uint64_t bits = 0;
  if (names == of.numbers.end()) return text;
  if (absl::SimpleAtoi(text, &number)) {
    bits = static_cast<std::uint64_t>(number);
  } else if (!absl::SimpleAtoi(text, &bits)) {
    return text;
  }
  std::string named = logformat::NumberText(*names->second, bits);
  return named.empty() ? text : named;
}

}  // namespace countrace::rmap
