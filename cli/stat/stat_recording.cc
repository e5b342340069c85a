#include "cli/stat/stat_recording.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/posix/errno_status.h"
#include "base/posix/temporary_directory.h"
#include "base/text/name_escape.h"
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

// The split of threads, where the output has them.
class SplitOfThreads {
 public:
  explicit SplitOfThreads(const StatCommandLine& line)
      : by_thread_(line.by == "thread") {
    if (!by_thread_ && !line.json) return;
    auto watch = runtime::OpenThreadTimesWatch();
    status_ = watch.status();
    if (watch.ok()) watch_ = *std::move(watch);
  }
  void Begin() {
    if (watch_ != nullptr) status_ = watch_->Begin();
  }
  void End() {
    if (watch_ == nullptr || !status_.ok()) return;
    auto times = watch_->End();
    status_ = times.status();
    if (times.ok()) times_ = *std::move(times);
  }
  void AddTo(StatRun& run) const {
    if (status_.ok()) {
      run.splits = SplitThreads(run.report, times_);
    } else if (by_thread_) {
      run.splits_missing = base::StatusText(status_);
    }
  }

 private:
  const bool by_thread_;
  std::unique_ptr<runtime::ThreadTimesWatch> watch_;
  absl::Status status_;
  std::vector<runtime::ThreadTimes> times_;
};

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
  const bool recorded = numbers.size() > 1;
  Insert(recorded ? "on-cpu" : "elapsed",
         rmap::UserAndSystem(usage.user_ns, usage.system_ns,
                             usage.user_ns + usage.system_ns),
         numbers);
  if (recorded) return;
  const auto add = [&numbers](const char* name, std::uint64_t value) {
    numbers.push_back({.name = name, .value = value});
  };
  add("voluntary-switches", usage.voluntary_switches);
  add("involuntary-switches", usage.involuntary_switches);
  add("minor-faults", usage.minor_faults);
  add("major-faults", usage.major_faults);
}

// The kernel's split of the time between `before` and `after`, which is not
// quite that of the recording.
void AddSplit(const CpuTimes& before, const CpuTimes& after,
              std::vector<StatNumber>& numbers) {
  const auto on_cpu = std::find_if(
      numbers.begin(), numbers.end(),
      [](const StatNumber& number) { return number.name == "on-cpu"; });
  if (on_cpu == numbers.end() || after.user_ns < before.user_ns ||
      after.system_ns < before.system_ns) {
    return;
  }
  Insert("on-cpu",
         rmap::UserAndSystem(after.user_ns - before.user_ns,
                             after.system_ns - before.system_ns, on_cpu->value),
         numbers);
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
  std::optional<CpuTimes> before, after;
  SplitOfThreads threads(line);
  record.begun = [&] {
    before = TimesNow(line, record);
    threads.Begin();
  };
  record.ended = [&] {
    after = TimesNow(line, record);
    threads.End();
  };
  auto recorded = runtime::Record(record);
  if (!recorded.ok()) return recorded.status();

  const auto reader = logformat::TraceReader::Open(recorded->path);
  if (!reader.ok()) return reader.status();
  rmap::SwitchTotals switches;
  auto report = rmap::Reconstruct(**reader, {.observer = &switches});
  if (!report.ok()) return report.status();
  StatRun run{*std::move(recorded), *std::move(report), {}, {}, ""};
  threads.AddTo(run);

  const bool of_command =
      !record.system_wide && record.pids.empty() && run.recorded.command_usage;
  StatNumber elapsed{.name = "elapsed", .is_time = true};
  elapsed.value = of_command ? run.recorded.command_ns : RecordedNs(run.report);
  if (elapsed.value == 0) elapsed.value = run.recorded.elapsed_ns;
  run.numbers.push_back(elapsed);
  for (StatNumber& number : rmap::StatNumbersOf(run.report, switches)) {
    // Among the default events; it is on-cpu.
    if (record.events.empty() && number.name == "task-clock") continue;
    run.numbers.push_back(std::move(number));
  }
  for (const runtime::QuotaStops& stops : run.recorded.quota_stops) {
    run.numbers.push_back({.name = "nr_throttled",
                           .value = stops.times,
                           .note = base::EscapeName(StopsText(stops))});
  }
  if (of_command) {
    AddUsage(*run.recorded.command_usage, run.numbers);
  } else if (before && after) {
    AddSplit(*before, *after, run.numbers);
  }
  return run;
}

}  // namespace countrace::cli
