#include "runtime/recorder/events/event_list.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "runtime/recorder/events/libpfm_event.h"
#include "runtime/recorder/events/pmu_event.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/descriptor_limit.h"
#include "runtime/recorder/system/process_capability.h"
#include "runtime/recorder/system/tracefs.h"

namespace countrace::runtime {
namespace {

void Probe(std::uint32_t cpu, ListedEvent& listed) {
  const absl::StatusOr<EventSpec> event = ParseEvent(listed.name);
  if (!event.ok()) {
    listed.why_not = base::StatusText(event.status());
    return;
  }
  perf_event_attr attr = ToPerfAttr(*event);
  attr.disabled = 1;
  if (!event->cpus.empty()) cpu = event->cpus.front();
  int cpu_error = 0;
  {
    const base::ScopedFd fd(OpenPerfEvent(attr, -1, static_cast<int>(cpu), -1));
    listed.opens_on_cpu = fd.is_open();
    if (!fd.is_open()) cpu_error = errno;
  }
  int task_error = 0;
  {
    const base::ScopedFd fd(OpenPerfEvent(attr, 0, -1, -1));
    listed.opens_on_task = fd.is_open() && !event->is_exec_runtime();
    if (!fd.is_open()) task_error = errno;
  }
  // Possible outcomes: both, machine only (uncore PMUs), task only (no
  // privilege), none.
  if (!listed.opens_on_cpu) {
    listed.why_not = ExplainOpenError(cpu_error);
  } else if (event->is_exec_runtime()) {
    listed.why_not = "not at hooks: BPF programs read it at dispatches";
  } else if (!listed.opens_on_task) {
    listed.why_not =
        absl::StrFormat("not at hooks: %s", ExplainOpenError(task_error));
  }
}

void AppendTracepoints(std::uint32_t cpu, ListEventsResult& result) {
  const absl::StatusOr<Tracefs> tracefs = Tracefs::Open();
  if (!tracefs.ok()) {
    result.messages.push_back(absl::StrFormat(
        "Tracepoints are not listed: %s", base::StatusText(tracefs.status())));
    return;
  }
  const absl::StatusOr<std::string> text = tracefs->Read("available_events");
  if (!text.ok()) {
    result.messages.push_back(absl::StrFormat("Tracepoints are not listed: %s",
                                              base::StatusText(text.status())));
    return;
  }
  // One trial is enough: all tracepoints need the same permission.
  std::size_t begin = 0;
  bool probed = false;
  ListedEvent model;
  while (begin < text->size()) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    ListedEvent listed;
    listed.name = text->substr(begin, end - begin);
    listed.kind = EventKind::kTracepoint;
    begin = end + 1;
    // A session has no room for longer names: report that, do not hide them.
    if (listed.name.size() >= sizeof(logformat::SessionEvent::name)) {
      listed.why_not =
          absl::StrFormat("name-bytes=%d, at most %d", listed.name.size(),
                          sizeof(logformat::SessionEvent::name) - 1);
      result.events.push_back(std::move(listed));
      continue;
    }
    if (!probed) {
      model = listed;
      Probe(cpu, model);
      probed = true;
    }
    listed.opens_on_cpu = model.opens_on_cpu;
    listed.opens_on_task = model.opens_on_task;
    listed.why_not = model.why_not;
    result.events.push_back(std::move(listed));
  }
}

}  // namespace

int OpenPerfEvent(const perf_event_attr& attr, int tid, int cpu, int group_fd,
                  unsigned long flags) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, cpu,
                                  group_fd, flags | PERF_FLAG_FD_CLOEXEC));
}

int OpenPerfEvent(const EventSpec& event, const perf_event_attr& attr, int tid,
                  int cpu, int group_fd, unsigned long flags) {
  if (cpu >= 0 && !event.IsOn(static_cast<std::uint32_t>(cpu))) {
    errno = ENODEV;
    return -1;
  }
  return OpenPerfEvent(attr, tid, cpu, group_fd, flags);
}

std::string ExplainOpenError(int error) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
    case ENXIO:
      return absl::StrFormat(
          "this machine does not have it (%s); virtual machines often have no "
          "hardware counters",
          std::strerror(error));
    case EACCES:
    case EPERM: {
      const auto paranoid =
          base::ReadNumber("/proc/sys/kernel/perf_event_paranoid");
      if (!InInitialUserNamespace()) {
        return absl::StrFormat(
            "%s (kernel.perf_event_paranoid=%d): it needs the initial user "
            "namespace, where root of this one has no privilege",
            std::strerror(error), paranoid.value_or(2));
      }
      return absl::StrFormat(
          "%s (kernel.perf_event_paranoid=%d): run as root, give the program "
          "CAP_PERFMON, or `sudo sysctl kernel.perf_event_paranoid=-1`",
          std::strerror(error), paranoid.value_or(2));
    }
    case EMFILE:
      return TooFewDescriptors();
    case EBUSY:
      return "another user holds the counters exclusively";
    case EINVAL:
      return "the kernel refuses this combination (Invalid argument)";
    default:
      return std::strerror(error);
  }
}

ListEventsResult ListEvents() {
  ListEventsResult result;
  const absl::StatusOr<std::vector<std::uint32_t>> cpus = OnlineCpus();
  const std::uint32_t cpu = cpus.ok() && !cpus->empty() ? cpus->front() : 0;
  for (const NamedEvent& named : FixedEventNames()) {
    ListedEvent listed;
    listed.name = named.name;
    listed.kind = named.kind;
    Probe(cpu, listed);
    result.events.push_back(std::move(listed));
  }
  for (const std::string& name : ListPmuEvents()) {
    ListedEvent listed;
    listed.name = name;
    listed.kind = EventKind::kPmu;
    Probe(cpu, listed);
    result.events.push_back(std::move(listed));
  }
  for (const std::string& name : ListLibpfmEvents()) {
    ListedEvent listed;
    listed.name = name;
    listed.kind = EventKind::kPmu;
    Probe(cpu, listed);
    result.events.push_back(std::move(listed));
  }
  AppendTracepoints(cpu, result);
  return result;
}

}  // namespace countrace::runtime
