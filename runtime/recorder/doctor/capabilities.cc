#include "runtime/recorder/doctor/capabilities.h"

#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "base/text/trim.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/event_name.h"
#include "runtime/recorder/kernel/bpf/kernel_recorder_bpf.h"
#include "runtime/recorder/kernel/bpf/load/uprobe_multi.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/pid_namespace.h"
#include "runtime/recorder/system/process_capability.h"
#include "runtime/recorder/system/tracefs.h"

namespace countrace::runtime {
namespace {

constexpr char kParanoidFix[] = "sudo sysctl kernel.perf_event_paranoid=-1";
// The only copy: errors and documents print it or refer to it. No other user
// can run the copy, at no instant.
constexpr char kGroupProgram[] =
    "c=$(readlink -f $(command -v countrace)); "
    "sudo install -g GROUP -m 750 $c $c-privileged && sudo setcap "
    "cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_nice+ep $c-privileged";
constexpr char kGroupRights[] =
    "members of GROUP can then record every process of the machine with "
    "countrace-privileged: its dispatches, call stacks, system calls and the "
    "numbers at its hooks; it opens no file that they cannot open";

// What gives the kernel's records. No capability of a user namespace does.
constexpr char kOutsideFix[] =
    "record outside this user namespace, as root of the machine: sudo "
    "countrace record -p PID, with the process's number there";

std::string PrivilegeFix() {
  return InInitialUserNamespace()
             ? absl::StrFormat("%s   # %s", kGroupProgram, kGroupRights)
             : kOutsideFix;
}

// errno of opening `name` (0 = it opens), for every thread of a CPU (tid -1) or
// for this thread (tid 0, cpu -1).
int TryOpen(const char* name, int tid, int cpu, bool exclude_kernel) {
  const auto event = ParseEvent(name);
  if (!event.ok()) return ENOENT;
  perf_event_attr attr = ToPerfAttr(*event);
  attr.disabled = 1;
  attr.exclude_kernel = exclude_kernel;
  const base::ScopedFd fd(OpenPerfEvent(attr, tid, cpu, -1));
  return fd.is_open() ? 0 : errno;
}

int FirstCpu() {
  const auto cpus = OnlineCpus();
  return cpus.ok() && !cpus->empty() ? static_cast<int>(cpus->front()) : 0;
}

Capability ProbePrivilege() {
  const auto paranoid =
      base::ReadNumber("/proc/sys/kernel/perf_event_paranoid");
  const bool initial = InInitialUserNamespace();
  const bool privileged =
      initial && (HasCapability(kCapPerfmon) || HasCapability(CAP_SYS_ADMIN));
  Capability item{.name = "privilege"};
  item.detail = absl::StrFormat(
      "kernel.perf_event_paranoid=%d CAP_PERFMON=%s CAP_SYS_ADMIN=%s uid=%d%s",
      paranoid.value_or(-2), HasCapability(kCapPerfmon) ? "yes" : "no",
      HasCapability(CAP_SYS_ADMIN) ? "yes" : "no", geteuid(),
      initial ? "" : ", in a user namespace other than the initial one");
  if (privileged || paranoid.value_or(2) <= -1) return item;
  item.status = CapabilityStatus::kMissing;
  item.effect =
      "no kernel records (dispatches, forks, faults), no `record -a`; user "
      "hooks and a process's own counters still work";
  item.fix = PrivilegeFix();
  if (initial) item.fix += absl::StrFormat("   # or: %s", kParanoidFix);
  return item;
}

bool TracefsIsMounted() {
  struct statfs mount {};
  return statfs("/sys/kernel/tracing", &mount) == 0 &&
         mount.f_type == TRACEFS_MAGIC;
}

Capability ProbeTracefs() {
  Capability item{.name = "tracefs"};
  const auto tracefs = Tracefs::Open();
  if (tracefs.ok()) {
    item.detail = tracefs->where();
    return item;
  }
  item.status = CapabilityStatus::kMissing;
  item.detail = base::StatusText(tracefs.status());
  item.effect =
      "no tracepoints as hooks or events, no kernel records from perf rings "
      "(BPF finds the scheduler without it)";
  // When mounted, its files are open to root only, whatever the mount's mode.
  item.fix = absl::IsPermissionDenied(tracefs.status()) && TracefsIsMounted()
                 ? PrivilegeFix()
                 : "sudo mount -t tracefs nodev /sys/kernel/tracing";
  return item;
}

// The reason why perf rings give no kernel records; empty if they do.
std::string WhyNoPerfRecords() {
  const auto tracefs = Tracefs::Open();
  if (!tracefs.ok()) return base::StatusText(tracefs.status());
  const int error =
      TryOpen("sched:sched_switch", -1, FirstCpu(), /*exclude_kernel=*/false);
  return error == 0 ? "" : ExplainOpenError(error);
}

// From BPF or from perf rings: one of them is enough.
Capability ProbeKernelRecords(const Capability& bpf) {
  Capability item{.name = "kernel-records"};
  const std::string why_no_perf = WhyNoPerfRecords();
  if (why_no_perf.empty()) {
    item.detail = "sched:sched_switch opens on every thread of a CPU";
    return item;
  }
  if (bpf.status == CapabilityStatus::kOk) {
    item.detail = "from BPF only; perf rings: " + why_no_perf;
    return item;
  }
  item.status = CapabilityStatus::kMissing;
  item.detail =
      absl::StrFormat("perf rings: %s; BPF: %s", why_no_perf, bpf.detail);
  item.effect = "no dispatch, fork, exec, exit and fault records";
  item.fix = PrivilegeFix();
  return item;
}

Capability ProbeTaskCounters() {
  Capability item{.name = "hook-counters"};
  if (TryOpen("page-faults", 0, -1, /*exclude_kernel=*/false) == 0) {
    item.detail = "a thread can count its own software events";
    return item;
  }
  const int error = TryOpen("page-faults", 0, -1, /*exclude_kernel=*/true);
  item.status =
      error == 0 ? CapabilityStatus::kLimited : CapabilityStatus::kMissing;
  item.detail =
      error == 0 ? "only user-mode counts (event:u)" : ExplainOpenError(error);
  item.effect = error == 0 ? "hook counters leave out the kernel's part"
                           : "no counters at user hooks";
  item.fix = kParanoidFix;
  return item;
}

Capability ProbeHardware() {
  Capability item{.name = "hardware-counters"};
  const bool privileged = TryOpen("cpu-clock", -1, FirstCpu(), false) == 0;
  const int error = privileged ? TryOpen("cycles", -1, FirstCpu(), false)
                               : TryOpen("cycles", 0, -1, true);
  if (error == 0) {
    item.detail = "cycles opens";
    return item;
  }
  item.status = CapabilityStatus::kMissing;
  item.detail = ExplainOpenError(error);
  item.effect =
      "no cycles, instructions, cache misses; software events (task-clock, "
      "page-faults, context-switches, ...) still work";
  if (error == EACCES || error == EPERM) item.fix = kParanoidFix;
  return item;
}

// Without a path the kernel refuses a uprobe in any case; the errno shows
// whether one with a path would be allowed.
Capability ProbeUserProbes(const Capability& bpf) {
  Capability item{.name = "user-probes"};
  const auto type =
      base::ReadNumber("/sys/bus/event_source/devices/uprobe/type");
  if (bpf.status != CapabilityStatus::kOk) {
    item.detail = "need BPF, which does not work";
  } else if (!type) {
    item.detail = "this kernel is built without uprobes";
  } else {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = static_cast<std::uint32_t>(*type);
    const base::ScopedFd fd(OpenPerfEvent(attr, -1, FirstCpu(), -1));
    // By links of BPF it takes them with CAP_BPF and CAP_PERFMON.
    if (fd.is_open() || (errno != EACCES && errno != EPERM) ||
        KernelHasUprobeMulti()) {
      item.detail = "the kernel accepts our uprobes";
      return item;
    }
    item.detail = "the kernel accepts uprobes only with CAP_SYS_ADMIN";
    item.fix = "sudo countrace record ...";
  }
  item.status = CapabilityStatus::kLimited;
  item.effect = "no dynamic hooks uprobe:FILE:FUNCTION and usdt:FILE:...";
  return item;
}

Capability ProbeClock() {
  Capability item{.name = "clock"};
  const auto source = base::ReadSmallFile(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string name =
      source.ok() ? std::string(base::Trim(*source)) : std::string("unknown");
  if (IsRawClockUsable()) {
    item.detail = absl::StrFormat(
        "clocksource=%s, constant and never stops: "
        "hooks read the raw counter",
        name);
    return item;
  }
  item.status = CapabilityStatus::kLimited;
  item.detail = absl::StrFormat("clocksource=%s", name);
  item.effect =
      "hooks call clock_gettime() instead of reading the raw counter: slower, "
      "equally right";
  return item;
}

Capability ProbeRingMemory() {
  Capability item{.name = "ring-memory"};
  const auto mlock_kb =
      base::ReadNumber("/proc/sys/kernel/perf_event_mlock_kb");
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = HasCapability(CAP_IPC_LOCK);
  item.detail = absl::StrFormat(
      "kernel.perf_event_mlock_kb=%d for each CPU, locked-memory limit=%s, "
      "CAP_IPC_LOCK=%s",
      mlock_kb.value_or(0),
      limit.rlim_cur == RLIM_INFINITY
          ? std::string("unlimited")
          : absl::StrFormat("%d KiB", limit.rlim_cur / 1024),
      unlimited ? "yes" : "no");
  const auto paranoid =
      base::ReadNumber("/proc/sys/kernel/perf_event_paranoid");
  if (unlimited || paranoid.value_or(2) <= -1 || mlock_kb.value_or(0) >= 8192) {
    return item;
  }
  item.status = CapabilityStatus::kLimited;
  item.effect = "smaller kernel rings: more records may be discarded";
  item.fix = "sudo sysctl kernel.perf_event_mlock_kb=8200";
  return item;
}

Capability ProbeDescriptors() {
  Capability item{.name = "descriptors"};
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  item.detail = absl::StrFormat("open-file limit=%d of %d", limit.rlim_cur,
                                limit.rlim_max);
  if (limit.rlim_cur >= 1024) return item;
  item.status = CapabilityStatus::kLimited;
  item.effect = "programs with many threads may not record all of them";
  item.fix = "ulimit -n 4096";
  return item;
}

}  // namespace

const char* CapabilityStatusName(CapabilityStatus status) {
  switch (status) {
    case CapabilityStatus::kOk:
      return "ok";
    case CapabilityStatus::kLimited:
      return "limited";
    case CapabilityStatus::kMissing:
      return "missing";
  }
  return "unknown";
}

Capability ProbeBpf() {
  Capability item{.name = "bpf"};
  KernelRecorderOptions options;
  options.ring_bytes = 4096;
  const auto opened = OpenBpfKernelRecorder(options);
  if (opened.ok()) {
    item.detail = "the programs load and attach to the scheduler's tracepoints";
    return item;
  }
  item.status = CapabilityStatus::kLimited;
  item.detail = base::StatusText(opened.status());
  item.effect =
      "no kernel segments, no dynamic hooks; kernel records come from perf "
      "rings, where those work, at several times the cost";
  if (!MissingBpfCapabilities().empty() || !InInitialUserNamespace()) {
    item.fix = PrivilegeFix();
  }
  return item;
}

std::vector<Capability> ProbeCapabilities() {
  const Capability bpf = ProbeBpf();
  return {ProbePrivilege(),
          ProbeTracefs(),
          ProbeKernelRecords(bpf),
          ProbeTaskCounters(),
          ProbeHardware(),
          ProbeEventGroups(),
          bpf,
          ProbeUserProbes(bpf),
          ProbeClock(),
          ProbeRingMemory(),
          ProbeDescriptors()};
}

std::string KernelRecordsRemedy(const absl::Status& status, bool by_perf) {
  // In the wrong namespace, no privilege helps.
  if (status.GetPayload(kPidNamespacePayload).has_value()) return "";
  if (!InInitialUserNamespace()) {
    return absl::StrFormat(
        ". For kernel records: %s; `countrace doctor` lists what is missing",
        kOutsideFix);
  }
  // perf rings need tracefs too, and no sysctl opens it; nor do they work in a
  // pid namespace.
  const std::string sysctl =
      by_perf && Tracefs::Open().ok() && IsHostPidNamespace()
          ? absl::StrFormat(", or %s", kParanoidFix)
          : "";
  return absl::StrFormat(
      ". For kernel records: run as root%s, or make a program for a group: %s "
      "(%s); `countrace doctor` lists what is missing",
      sysctl, kGroupProgram, kGroupRights);
}

std::string KernelRecordsMissingMessage(const absl::Status& status) {
  return absl::StrFormat(
      "No kernel records (dispatches, forks, faults): %s. User hooks and each "
      "process's own counters are still recorded%s",
      base::StatusText(status), KernelRecordsRemedy(status, /*by_perf=*/true));
}

}  // namespace countrace::runtime
