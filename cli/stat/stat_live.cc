#include "cli/stat/stat_live.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/verb.h"
#include "cli/program/wall_clock.h"
#include "cli/record/record_exit.h"
#include "cli/stat/cpu_times.h"
#include "rmap/columns/report_columns.h"
#include "runtime/recorder/events/counter_trial.h"
#include "runtime/recorder/kernel/process_marks.h"
#include "runtime/recorder/live/count_live.h"
#include "runtime/recorder/system/process_owner.h"

namespace countrace::cli {
namespace {

using Json = nlohmann::ordered_json;
using runtime::EventSpec;
using runtime::LiveCount;
using runtime::LiveInterval;

constexpr int kLinesUnderHeading = 20;  // as vmstat
constexpr std::size_t kLeastWidth = 9;

struct Value {
  std::string name;
  bool is_time = false;
  std::uint64_t value = 0;
  bool scaled = false;  // multiplexed: in proportion to the time
  bool known = true;    // false: it was not counted at all
};

Value ValueOf(const EventSpec& event, const LiveCount& count) {
  Value value{
      .name = event.name,
      .is_time = rmap::UnitOfEvent(event.name) == rmap::Unit::kNanoseconds,
      .value = count.count};
  if (count.running_ns < count.enabled_ns) {
    value.scaled = true;
    value.known = count.running_ns != 0;
    if (value.known) {
      value.value = static_cast<std::uint64_t>(
          std::llround(static_cast<double>(count.count) *
                       static_cast<double>(count.enabled_ns) /
                       static_cast<double>(count.running_ns)));
    }
  }
  return value;
}

class Lines {
 public:
  Lines(const StatCommandLine& line, std::FILE* file)
      : json_(line.json), csv_(line.csv), file_(file) {}

  // Returns: false if it cannot be written.
  bool Print(std::uint64_t begin_ns, std::uint64_t end_ns,
             const std::vector<Value>& values, const char* what) {
    if (json_) return Write(JsonLine(begin_ns, end_ns, values, what));
    if (csv_) return Write(CsvLine(end_ns, values, what));
    std::string text;
    if (printed_ % kLinesUnderHeading == 0 || *what != '\0') {
      if (*what == '\0') text = Heading(values);
    }
    ++printed_;
    absl::StrAppendFormat(
        &text, "%10s",
        *what == '\0' ? base::FormatInstant(end_ns) : std::string(what));
    for (const Value& value : values) {
      absl::StrAppendFormat(&text, " %*s", Width(value), Cell(value));
    }
    return Write(text + "\n");
  }

 private:
  static std::string DateNow() {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    return FormatWallClock(std::int64_t{now.tv_sec} * 1'000'000'000 +
                           now.tv_nsec);
  }
  static int Width(const Value& value) {
    return static_cast<int>(std::max(value.name.size(), kLeastWidth));
  }
  static std::string Cell(const Value& value) {
    if (!value.known) return "-";
    const char* const mark = value.scaled ? "~" : "";
    return mark +
           (value.is_time
                ? base::FormatNanoseconds(static_cast<double>(value.value))
                : base::FormatCount(value.value));
  }

  static std::string Heading(const std::vector<Value>& values) {
    std::string text = "      time";
    for (const Value& value : values) {
      absl::StrAppendFormat(&text, " %*s", Width(value),
                            base::EscapeName(value.name));
    }
    return text + "\n";
  }

  static std::string JsonLine(std::uint64_t begin_ns, std::uint64_t end_ns,
                              const std::vector<Value>& values,
                              const char* what) {
    Json json = {{"schema", "countrace.stat-interval/1"},
                 {"what", *what == '\0' ? "interval" : what},
                 {"begin_ns", begin_ns},
                 {"end_ns", end_ns},
                 {"date", DateNow()}};
    Json& counts = json["counts"] = Json::object();
    Json scaled = Json::array();
    for (const Value& value : values) {
      counts[value.name] = value.known ? Json(value.value) : Json(nullptr);
      if (value.scaled) scaled.push_back(value.name);
    }
    if (!scaled.empty()) json["scaled"] = scaled;
    return json.dump() + "\n";
  }

  std::string CsvLine(std::uint64_t end_ns, const std::vector<Value>& values,
                      const char* what) {
    std::string text;
    if (printed_++ == 0) {
      text = "what,time_ns,date";
      for (const Value& value : values) {
        text += "," + base::CsvField(base::EscapeName(value.name));
      }
      text += "\n";
    }
    absl::StrAppendFormat(&text, "%s,%d,%s", *what == '\0' ? "interval" : what,
                          end_ns, DateNow());
    for (const Value& value : values) {
      text += value.known ? absl::StrFormat(",%d", value.value) : ",";
    }
    return text + "\n";
  }

  bool Write(const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), file_) == text.size() &&
           std::fflush(file_) == 0;
  }

  const bool json_, csv_;
  std::FILE* const file_;
  std::uint64_t printed_ = 0;
};

// Those of the machine have user and system time instead of task-clock, which
// counts idle CPUs, too.
std::vector<std::string> DefaultEvents(bool machine) {
  std::vector<std::string> names;
  if (!machine) names.emplace_back("task-clock");
  for (const char* name :
       {"context-switches", "cpu-migrations", "page-faults", "major-faults"}) {
    names.emplace_back(name);
  }
  for (const char* name : {"cycles", "instructions"}) {
    const auto event = runtime::ParseEvent(name);
    const runtime::TrialPlace here{
        .tid = 0, .cpu = -1, .exclude_kernel = false};
    if (event.ok() && runtime::TryAlone(*event, here) == 0) {
      names.emplace_back(name);
    }
  }
  return names;
}

// Errors: INVALID_ARGUMENT.
absl::StatusOr<std::vector<EventSpec>> EventsOf(
    const StatCommandLine& line, const runtime::RecordOptions& record) {
  for (const std::string& name : record.events) {
    if (name.find('{') != name.npos) {
      return absl::InvalidArgumentError(
          "event sets rotate in a recording, without --every: leave out the "
          "braces");
    }
  }
  absl::StatusOr<std::vector<EventSpec>> events = std::vector<EventSpec>();
  if (line.all_events) {  // more than a recording has room for
    for (const std::string& name : record.events) {
      const auto event = runtime::ParseEvent(name);
      if (event.ok()) events->push_back(*event);
    }
  } else {
    events = runtime::ParseEvents(
        record.events.empty() ? DefaultEvents(line.all_cpus) : record.events);
  }
  if (!events.ok()) return events;
  for (const EventSpec& event : *events) {
    if (event.is_exec_runtime()) {
      return absl::InvalidArgumentError(
          "exec-runtime is counted in a recording, without --every; task-clock "
          "is almost the same");
    }
  }
  return events;
}

// The file of --output. Null: it cannot be written, which was said.
using OutputFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
OutputFile OpenOutput(const std::string& name) {
  OutputFile file(std::fopen(name.c_str(), "we"), std::fclose);
  if (file == nullptr) {
    Say(kStatVerb.name,
        absl::StrFormat("Cannot write %s: %s", name, std::strerror(errno)));
  }
  return file;
}

// User and system time of the machine, or of a cgroup; none of other scopes.
std::optional<CpuTimes> ScopeTimes(const StatCommandLine& line,
                                   const std::string& cgroup) {
  if (line.all_cpus) return TimesOfMachine();
  if (!cgroup.empty()) return TimesOfCgroup(cgroup);
  return std::nullopt;
}

std::vector<Value> ValuesOf(const LiveInterval& interval,
                            const std::vector<EventSpec>& events,
                            const std::vector<bool>& left_out,
                            const std::optional<CpuTimes>& before,
                            const std::optional<CpuTimes>& now) {
  std::vector<Value> row;
  if (before && now) {
    row.push_back({"user", true, now->user_ns - before->user_ns});
    row.push_back({"system", true, now->system_ns - before->system_ns});
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (left_out[i]) continue;
    row.push_back(ValueOf(events[i], interval.counts[i]));
  }
  return row;
}

}  // namespace

int StatLive(const VerbParser& parser, const StatCommandLine& line,
             const runtime::RecordOptions& record) {
  auto events = EventsOf(line, record);
  if (!events.ok() && absl::IsInvalidArgument(events.status())) {
    return parser.UsageError(std::string(events.status().message()));
  }
  if (!events.ok()) return ReportFailure(kStatVerb.name, events.status());

  std::FILE* file = line.command.empty() ? stdout : stderr;
  OutputFile own(nullptr, std::fclose);
  if (!line.output.empty()) {
    own = OpenOutput(line.output);
    if (own == nullptr) return kExitFailed;
    file = own.get();
  } else if (line.command.empty()) {
    // `countrace stat -a --every 1s | head` ends as quietly as any filter.
    std::signal(SIGPIPE, SIG_DFL);
  }
  Lines lines(line, file);
  std::optional<CpuTimes> first, last;
  std::vector<bool> left_out(events->size());
  bool written = true;
  runtime::LiveOptions options;
  options.events = *events;
  options.machine = line.all_cpus;
  options.pids = record.pids;
  options.command = line.command;
  options.every_ns = line.every_ns;
  options.duration_ns = line.duration_ns;
  std::string cgroup;
  if (!line.cgroup.empty()) {
    const auto marks = runtime::ProcessMarks::Resolve(record.marks);
    if (!marks.ok()) return ReportFailure(kStatVerb.name, marks.status());
    cgroup = marks->cgroups().front().path;
    options.cgroup = *runtime::CgroupMount() + cgroup;
  }
  if (line.all_events) {
    options.left_out = [&](std::size_t event, const std::string& why) {
      left_out[event] = true;
      Say(kStatVerb.name,
          absl::StrFormat("--all: %s is left out: %s",
                          base::EscapeName((*events)[event].name), why));
    };
  }
  options.begun = [&] { first = last = ScopeTimes(line, cgroup); };
  options.interval = [&](const LiveInterval& interval) {
    const std::optional<CpuTimes> now = ScopeTimes(line, cgroup);
    written = lines.Print(interval.begin_ns, interval.end_ns,
                          ValuesOf(interval, *events, left_out, last, now), "");
    last = now;
    return written;
  };
  const auto result = runtime::CountLive(options);
  if (!result.ok()) return RecordFailure(kStatVerb.name, result.status());
  if (written) {
    written = lines.Print(0, result->all.end_ns,
                          ValuesOf(result->all, *events, left_out, first, last),
                          "all");
  }
  if (result->command_ran) {
    const int status = CommandExitStatus(result->command_status);
    if (status != 0) return status;
  }
  return written ? kExitOk : kExitFailed;
}

}  // namespace countrace::cli
