#include "cli/stat/stat_recording.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/posix/errno_status.h"
#include "base/posix/temporary_directory.h"
#include "base/text/name_escape.h"
#include "cli/program/runtime_library.h"
#include "cli/stat/cpu_times.h"
#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"
#include "rmap/stat/switch_totals.h"
#include "runtime/recorder/kernel/process_marks.h"
#include "runtime/recorder/record.h"
#include "runtime/recorder/system/thread_times.h"

namespace countrace::cli {
namespace {

using rmap::StatNumber;

CpuTimes Between(const CpuTimes& before, const CpuTimes& after) {
  return {rmap::Less(after.user_ns, before.user_ns),
          rmap::Less(after.system_ns, before.system_ns)};
}

std::optional<CpuTimes> TimesNow(const StatCommandLine& line,
                                 const runtime::RecordOptions& record) {
  if (line.all_cpus) return TimesOfMachine();
  if (!line.cgroup.empty()) {
    const auto marks = runtime::ProcessMarks::Resolve(record.marks);
    if (!marks.ok() || marks->cgroups().empty()) return std::nullopt;
    return TimesOfCgroup(marks->cgroups().front().path);
  }
  if (!record.pids.empty()) return TimesOfProcesses(record.pids);
  return std::nullopt;
}

void Insert(const char* after, std::vector<StatNumber> parts,
            std::vector<StatNumber>& numbers) {
  auto place = std::find_if(
      numbers.begin(), numbers.end(),
      [after](const StatNumber& number) { return number.name == after; });
  if (place != numbers.end()) ++place;
  numbers.insert(place, parts.begin(), parts.end());
}

// What is known without kernel records.
void AddUsage(const runtime::CommandUsage& usage,
              std::vector<StatNumber>& numbers) {
  Insert("elapsed",
         rmap::UserAndSystem(usage.user_ns, usage.system_ns,
                             usage.user_ns + usage.system_ns),
         numbers);
  const auto add = [&numbers](const char* name, std::uint64_t value) {
    numbers.push_back({.name = name, .value = value});
  };
  add("voluntary-switches", usage.voluntary_switches);
  add("involuntary-switches", usage.involuntary_switches);
  add("minor-faults", usage.minor_faults);
  add("major-faults", usage.major_faults);
}

// On-CPU time in the proportion of `times`. After losses it is at least what
// the kernel counted of the children that were waited for. False: it is not
// known.
bool AddSplit(const CpuTimes& times, std::uint64_t waited_for_ns,
              std::vector<StatNumber>& numbers) {
  const auto on_cpu = std::find_if(
      numbers.begin(), numbers.end(),
      [](const StatNumber& number) { return number.name == "on-cpu"; });
  if (on_cpu == numbers.end()) return false;
  const rmap::Bounds limits =
      on_cpu->bounds.value_or(rmap::Bounds{on_cpu->value, on_cpu->value});
  const std::uint64_t total =
      std::clamp(std::max(on_cpu->value, waited_for_ns), limits.lo, limits.hi);
  Insert("on-cpu",
         rmap::UserAndSystem(times.user_ns, times.system_ns, total, limits),
         numbers);
  return true;
}

// From the first to the last counters of a CPU; the mean of all.
std::uint64_t RecordedNs(const rmap::Report& report) {
  std::uint64_t sum = 0;
  for (const rmap::CpuRow& row : report.cpu_rows) sum += row.wall_ns;
  return report.cpu_rows.empty() ? 0 : sum / report.cpu_rows.size();
}

}  // namespace

absl::StatusOr<StatRun> RunOnce(const StatCommandLine& line,
                                runtime::RecordOptions record) {
  auto folder = base::TemporaryDirectory::Create("stat");
  if (!folder.ok()) return folder.status();
  record.output = (*folder)->path() + "/trace";
  const bool of_part = !record.triggers.empty();
  if (of_part) {
    auto library = FindRuntimeLibrary();
    if (!library.ok()) return library.status();
    record.runtime_library = *std::move(library);
  }
  std::optional<CpuTimes> before, after;
  auto watch = runtime::OpenThreadTimesWatch();
  absl::Status watched = watch.status();
  std::vector<runtime::ThreadTimes> thread_times;
  record.begun = [&] {
    before = TimesNow(line, record);
    if (watched.ok()) watched = (*watch)->Begin();
  };
  record.ended = [&] {
    after = TimesNow(line, record);
    if (!watched.ok()) return;
    auto times = (*watch)->End();
    watched = times.status();
    if (times.ok()) thread_times = *std::move(times);
  };
  auto recorded = runtime::Record(record);
  if (!recorded.ok()) return recorded.status();

  const auto reader = logformat::TraceReader::Open(recorded->path);
  if (!reader.ok()) return reader.status();
  rmap::SwitchTotals switches;
  auto report = rmap::Reconstruct(**reader, {.observer = &switches});
  if (!report.ok()) return report.status();
  StatRun run{*std::move(recorded), *std::move(report), {}, {}, ""};
  // What is known without records is of the whole run.
  if (of_part) {
    run.splits_missing =
        "they are of the whole run, and --trigger is of a part";
  } else if (watched.ok()) {
    run.splits = SplitThreads(run.report, thread_times);
  } else if (line.by == "thread") {
    run.splits_missing = base::StatusText(watched);
  }

  const bool of_command =
      !record.system_wide && record.pids.empty() && run.recorded.command_usage;
  StatNumber elapsed{.name = "elapsed", .is_time = true};
  elapsed.value = of_part      ? run.report.elapsed_ns()
                  : of_command ? run.recorded.command_ns
                               : RecordedNs(run.report);
  if (elapsed.value == 0 && !of_part) {
    elapsed.value = run.recorded.elapsed_ns;
  }
  run.numbers.push_back(elapsed);
  for (StatNumber& number : rmap::StatNumbersOf(run.report, switches)) {
    // Among the default events; it is on-cpu.
    if (record.events.empty() && number.name == "task-clock") continue;
    run.numbers.push_back(std::move(number));
  }
  if (of_part) return run;
  for (const runtime::QuotaStops& stops : run.recorded.quota_stops) {
    run.numbers.push_back({.name = "nr_throttled",
                           .value = stops.times,
                           .note = base::EscapeName(StopsText(stops))});
  }
  const runtime::CommandUsage usage =
      of_command ? *run.recorded.command_usage : runtime::CommandUsage();
  CpuTimes times = TimesOfThreads(run.report, run.splits);
  if (times.user_ns + times.system_ns == 0) {
    times = before && after ? Between(*before, *after)
                            : CpuTimes{usage.user_ns, usage.system_ns};
  }
  if (!AddSplit(times, usage.user_ns + usage.system_ns, run.numbers) &&
      of_command) {
    AddUsage(usage, run.numbers);
  }
  return run;
}

}  // namespace countrace::cli
