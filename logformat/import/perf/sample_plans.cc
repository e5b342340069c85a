#include "logformat/import/perf/sample_plans.h"

#include <linux/perf_event.h>
#include <seccomp.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/file_layout.h"
#include "logformat/perf_event_names.h"

namespace countrace::importer::perf {

using logformat::PayloadType;

namespace {

struct KnownEvent {
  std::string_view name;
  EventKind kind;
  const char* provider;
  std::vector<const char*> fields;  // by role
};

// Tracepoints of Linux 4.x to 6.x. Facts about processes come from perf's own
// records, and not again from tracepoints.
const std::vector<KnownEvent>& KnownEvents() {
  static const auto& known = *new std::vector<KnownEvent>{
      {"sched:sched_switch",
       EventKind::kSwitch,
       "",
       {"prev_pid", "next_pid", "prev_state", "prev_comm", "next_comm"}},
      {"sched:sched_waking", EventKind::kWaking, "", {"pid", "target_cpu"}},
      {"sched:sched_wakeup", EventKind::kWaking, "", {"pid", "target_cpu"}},
      {"sched:sched_wakeup_new", EventKind::kWaking, "", {"pid", "target_cpu"}},
      {"irq:irq_handler_entry",
       EventKind::kInterruptEnter,
       "irq",
       {"irq", "name"}},
      {"irq:irq_handler_exit", EventKind::kInterruptExit, "irq", {"irq"}},
      {"irq:softirq_entry", EventKind::kInterruptEnter, "softirq", {"vec"}},
      {"irq:softirq_exit", EventKind::kInterruptExit, "softirq", {"vec"}},
      {"exceptions:page_fault_user", EventKind::kPageFault, "", {"address"}},
      {"exceptions:page_fault_kernel", EventKind::kPageFault, "", {"address"}},
      {"raw_syscalls:sys_enter", EventKind::kSyscallEnter, "syscall", {"id"}},
      {"raw_syscalls:sys_exit",
       EventKind::kSyscallExit,
       "syscall",
       {"ret", "id"}},
  };
  return known;
}

std::optional<FieldPlace> PlaceOf(const SamplePlan& plan,
                                  std::string_view field) {
  if (!plan.tracepoint) return std::nullopt;
  const auto member = plan.tracepoint->Find(field);
  if (!member) return std::nullopt;
  return FieldPlace{FieldScope::kPayload, *member};
}

// True if every occurrence of the event is a sample.
bool IsEveryOne(const EventAttribute& attribute) {
  return attribute.sample_period == 1 && !attribute.Has(kFreq);
}
bool IsSoftware(const EventAttribute& attribute, std::uint64_t config) {
  return attribute.type == PERF_TYPE_SOFTWARE && attribute.config == config;
}

}  // namespace

std::string NameOf(const EventAttribute& attribute,
                   const TracepointFormats& formats) {
  if (attribute.type == PERF_TYPE_TRACEPOINT) {
    if (const auto tracepoint = formats.Describe(attribute.config)) {
      return tracepoint->system + ":" + tracepoint->name;
    }
  }
  if (!attribute.name.empty()) {
    // perf adds an empty modifier to some names.
    std::string name = attribute.name;
    if (name.ends_with(':')) name.pop_back();
    if (name.ends_with(":S")) name.resize(name.size() - 2);
    return name;
  }
  if (attribute.type == PERF_TYPE_HARDWARE &&
      attribute.config < std::size(logformat::kPerfHardwareEvents)) {
    return std::string(logformat::kPerfHardwareEvents[attribute.config].name);
  }
  if (attribute.type == PERF_TYPE_SOFTWARE &&
      attribute.config < std::size(logformat::kPerfSoftwareEvents)) {
    return std::string(logformat::kPerfSoftwareEvents[attribute.config].name);
  }
  return absl::StrFormat("event-%d-%x", attribute.type, attribute.config);
}

std::string SyscallName(const std::string& arch, std::int64_t number) {
  std::uint32_t token = 0;
  if (arch == "x86_64") token = SCMP_ARCH_X86_64;
  if (arch == "aarch64") token = SCMP_ARCH_AARCH64;
  if (arch == "ppc64le") token = SCMP_ARCH_PPC64LE;
  if (arch == "s390x") token = SCMP_ARCH_S390X;
  if (arch == "i686" || arch == "i386") token = SCMP_ARCH_X86;
  if (token != 0 && number >= 0 && number < 4096) {
    char* name =
        seccomp_syscall_resolve_num_arch(token, static_cast<int>(number));
    if (name != nullptr) {
      std::string text(name);
      std::free(name);
      return text;
    }
  }
  return std::to_string(number);
}

bool SamplePlans::ClassifyTracepoint(SamplePlan& plan) {
  const std::string_view name = plan.name;
  std::vector<const char*> fields;
  bool known_kind = false;
  for (const KnownEvent& known : KnownEvents()) {
    if (known.name != name) continue;
    plan.kind = known.kind;
    plan.provider = known.provider;
    fields = known.fields;
    known_kind = true;
  }
  plan.repeats_waking = name == "sched:sched_wakeup";
  plan.raw_syscall = name.starts_with("raw_syscalls:sys_e") && known_kind;
  constexpr std::string_view kEnter = "syscalls:sys_enter_";
  constexpr std::string_view kExit = "syscalls:sys_exit_";
  if (name.starts_with(kEnter) || name.starts_with(kExit)) {
    const bool exit = name.starts_with(kExit);
    plan.kind = exit ? EventKind::kSyscallExit : EventKind::kSyscallEnter;
    plan.provider = "syscall";
    plan.hook_name = name.substr(exit ? kExit.size() : kEnter.size());
    if (exit) fields = {"ret"};
    known_kind = true;
  }
  constexpr std::string_view kVectors = "irq_vectors:";
  if (name.starts_with(kVectors) &&
      (name.ends_with("_entry") || name.ends_with("_exit"))) {
    plan.kind = name.ends_with("_exit") ? EventKind::kInterruptExit
                                        : EventKind::kInterruptEnter;
    plan.provider = "irq";
    plan.hook_name = name.substr(kVectors.size());
    plan.hook_name.resize(plan.hook_name.rfind('_'));
    fields = {"vector"};
    known_kind = true;
  }
  if (!known_kind) return false;
  for (const char* field : fields) plan.fields.push_back(PlaceOf(plan, field));
  // If this kernel's tracepoint has no such field, it becomes a point.
  if (plan.fields.empty() || plan.fields[0].has_value() ||
      plan.kind == EventKind::kSyscallExit) {
    plan.to_kernel = true;
  }
  return plan.to_kernel;
}

void SamplePlans::PlacePayload(SamplePlan& plan) {
  const auto add = [&plan](const std::string& name, FieldPlace place,
                           PayloadType type) {
    plan.payload_names.push_back(name);
    plan.payload.push_back(place);
    plan.payload_types.push_back(type);
  };
  if (!plan.tracepoint) {
    const std::uint64_t type = plan.attribute->sample_type;
    if ((type & PERF_SAMPLE_IP) != 0) {
      add("ip", {FieldScope::kCommon, kIp}, PayloadType::kPointer);
    }
    add("period", {FieldScope::kCommon, kPeriod}, PayloadType::kUnsigned);
    if ((type & PERF_SAMPLE_ADDR) != 0) {
      add("addr", {FieldScope::kCommon, kAddress}, PayloadType::kPointer);
    }
    return;
  }
  const std::vector<TracepointField>& fields = plan.tracepoint->fields;
  for (std::uint32_t i = 0; i < fields.size(); ++i) {
    const FieldPlace place{FieldScope::kPayload, i};
    // The number of the call is its hook.
    if (plan.to_kernel && fields[i].name == "__syscall_nr") continue;
    const bool last = plan.payload.size() + 1 == logformat::kMaxPayloadValues;
    if (last && i + 1 < fields.size()) {
      for (std::uint32_t rest = i; rest < fields.size(); ++rest) {
        plan.rest.push_back(rest);
      }
      add("others", place, PayloadType::kString);
      return;
    }
    PayloadType type = PayloadType::kString;
    if (fields[i].kind == TracepointField::Kind::kInteger) {
      type = fields[i].is_signed ? PayloadType::kInt : PayloadType::kUnsigned;
      if (fields[i].is_pointer || fields[i].name.starts_with("__probe_")) {
        type = PayloadType::kPointer;
      }
    }
    add(fields[i].name, place, type);
  }
}

absl::Status SamplePlans::ClassifyByMapping(SamplePlan& plan,
                                            const Mapping& mapping,
                                            bool& mapped) {
  mapped = true;
  for (std::size_t i = 0; i < mapping.segments.size(); ++i) {
    const SegmentMapping& segment = mapping.segments[i];
    const bool begin = segment.begin == plan.name;
    if (!begin && segment.end != plan.name) continue;
    plan.segment = &segment;
    plan.segment_index = i;
    for (const std::string& key : segment.key) {
      const auto place = PlaceOf(plan, key);
      if (!place) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s: event `%s` has no field `%s`%s", segment.place, plan.name, key,
            plan.tracepoint ? "" : ": it is no tracepoint of this file"));
      }
      plan.key.push_back(*place);
    }
    plan.kind =
        segment.across_threads
            ? (begin ? EventKind::kRequestBegin : EventKind::kRequestEnd)
            : (begin ? EventKind::kEnter : EventKind::kExit);
    return absl::OkStatus();
  }
  for (const PointMapping& point : mapping.points) {
    if (point.event != plan.name) continue;
    plan.kind = EventKind::kPoint;
    return absl::OkStatus();
  }
  for (const std::string& glob : mapping.ignore) {
    if (!MatchesEventGlob(glob, plan.name)) continue;
    plan.kind = EventKind::kIgnored;
    return absl::OkStatus();
  }
  mapped = false;
  return absl::OkStatus();
}

void SamplePlans::Classify(SamplePlan& plan) {
  const EventAttribute& attribute = *plan.attribute;
  plan.kind = EventKind::kPoint;
  if (IsSoftware(attribute, PERF_COUNT_SW_PAGE_FAULTS) &&
      IsEveryOne(attribute)) {
    plan.kind = EventKind::kPageFault;
    plan.fields = {FieldPlace{FieldScope::kCommon, kAddress}};
    plan.to_kernel = true;
    return;
  }
  if (plan.tracepoint) {
    if (ClassifyTracepoint(plan)) return;
    plan.kind = EventKind::kPoint;
    plan.fields.clear();
    return;
  }
  plan.name = "sample:" + plan.name;
}

absl::Status SamplePlans::Make(const FileDescription& file,
                               const TracepointFormats& formats,
                               const Mapping& mapping,
                               logformat::TraceInfo& info) {
  std::set<std::string> names;
  for (const EventAttribute& attribute : file.attributes) {
    SamplePlan& plan = plans_.emplace_back();
    plan.attribute = &attribute;
    plan.name = NameOf(attribute, formats);
    names.insert(plan.name);
    if (attribute.type == PERF_TYPE_TRACEPOINT) {
      plan.tracepoint = formats.Describe(attribute.config);
      if (!plan.tracepoint) {
        info.not_known.push_back(absl::StrFormat(
            "the fields of tracepoint `%s`: the file does not describe it",
            plan.name));
      }
    }
    bool mapped = false;
    if (absl::Status status = ClassifyByMapping(plan, mapping, mapped);
        !status.ok()) {
      return status;
    }
    if (!mapped) Classify(plan);
    // For a command it shows only the thread that leaves: a point.
    if (plan.to_kernel && plan.kind == EventKind::kSwitch &&
        !file.system_wide) {
      plan.kind = EventKind::kPoint;
      plan.to_kernel = false;
      plan.fields.clear();
    }
    plan.tid = FieldPlace{FieldScope::kCommon, kTid};
    plan.pid = FieldPlace{FieldScope::kCommon, kPid};
    if (!plan.to_kernel ||
        (plan.kind == EventKind::kSyscallEnter && !plan.raw_syscall)) {
      PlacePayload(plan);
    }
    classes_.sched_switch |= plan.kind == EventKind::kSwitch && plan.to_kernel;
    classes_.waking |= plan.name == "sched:sched_waking" && plan.to_kernel;
    classes_.faults |= plan.kind == EventKind::kPageFault;
  }
  const auto check = [&](const std::string& event, const std::string& place) {
    if (names.contains(event)) return;
    info.not_known.push_back(
        absl::StrFormat("%s: the trace has no event `%s`", place, event));
  };
  for (const SegmentMapping& segment : mapping.segments) {
    check(segment.begin, segment.place);
    check(segment.end, segment.place);
  }
  for (const PointMapping& point : mapping.points) {
    check(point.event, point.place);
  }
  return absl::OkStatus();
}

}  // namespace countrace::importer::perf
