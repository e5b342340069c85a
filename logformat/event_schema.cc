#include "logformat/event_schema.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"
#include "logformat/block_point.h"
#include "logformat/sample_points.h"

namespace countrace::logformat {
namespace {

bool IsIdentifierCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

FieldType PayloadField(PayloadType type) {
  switch (type) {
    case PayloadType::kInt:
      return FieldType::kInt64;
    case PayloadType::kDouble:
      return FieldType::kDouble;
    case PayloadType::kString:
      return FieldType::kString;
    case PayloadType::kPointer:
      return FieldType::kPointer;
    case PayloadType::kUnsigned:
    case PayloadType::kNone:
      break;
  }
  return FieldType::kUint64;
}

// A name is printed within one line by every reader: a line break in it would
// split the record's line.
std::string OneLine(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += absl::StrFormat("\\x%02x", byte);
    } else {
      out += c;
    }
  }
  return out;
}

// Fields of a dump: its head, if any, the always-on values, the event set.
std::vector<EventField> DumpFields(const std::vector<std::string>& events,
                                   const EventSets& sets, bool has_head) {
  std::vector<EventField> fields;
  if (has_head || sets.rotates()) {
    fields = {{"mmcr", sets.rotates() ? FieldType::kMmcr : FieldType::kUint32},
              {"present", FieldType::kUint32}};
  }
  std::vector<std::string> names = CounterFieldNames(events);
  for (std::size_t i = 0; i < sets.always_on(); ++i) {
    fields.push_back({std::move(names[i]), FieldType::kCounter});
  }
  if (!sets.rotates()) return fields;
  EventField in_force = {"set", FieldType::kEventSet};
  for (std::size_t set = 0; set < sets.sizes.size(); ++set) {
    std::vector<EventField>& option = in_force.options.emplace_back();
    for (std::size_t i = 0; i < sets.largest(); ++i) {
      const auto event = sets.EventAt(set, sets.always_on() + i);
      // Each set has the same number of fields, so all records are equally
      // long.
      option.push_back({event ? names[*event] : absl::StrFormat("unused_%d", i),
                        FieldType::kCounter});
    }
    if (sets.running_slot) {
      option.push_back({"time_running", FieldType::kCounter});
    }
  }
  fields.push_back(std::move(in_force));
  return fields;
}

// `name`, or another one if the record has such a field: JSON has both in one
// object.
std::string OtherName(const std::string& name,
                      const std::vector<EventField>& before,
                      const std::vector<EventField>& more) {
  const auto taken = [&](const std::string& wanted) {
    const auto same = [&](const EventField& field) {
      return field.name == wanted;
    };
    return std::any_of(before.begin(), before.end(), same) ||
           std::any_of(more.begin(), more.end(), same);
  };
  std::string other = name;
  for (int i = 2; taken(other); ++i) other = absl::StrFormat("%s_%d", name, i);
  return other;
}

void AddCpuClasses(const TraceInfo& info, std::vector<EventClass>& classes) {
  using F = FieldType;
  const std::vector<EventField> counters =
      DumpFields(info.cpu_events, info.cpu_sets(), /*has_head=*/false);
  const auto add = [&](CpuEvent id, const char* name,
                       std::vector<EventField> fields, bool dump) {
    if (dump) fields.insert(fields.end(), counters.begin(), counters.end());
    classes.push_back({StreamClass::kCpu,
                       static_cast<std::uint16_t>(id),
                       name,
                       {},
                       std::move(fields)});
  };
  const std::vector<EventField> task = {{"pid", F::kInt32},
                                        {"tid", F::kInt32},
                                        {"parent_pid", F::kInt32},
                                        {"parent_tid", F::kInt32}};
  const std::vector<EventField> comm = {
      {"pid", F::kInt32}, {"tid", F::kInt32}, {"comm", F::kComm}};
  add(CpuEvent::kDispatch, "dispatch",
      {{"prev_tid", F::kUint24},
       {"next_tid", F::kUint24},
       {"prev_state", F::kUint16}},
      true);
  add(CpuEvent::kCounters, "counters",
      {{"reason", F::kUint32}, {"running_tid", F::kUint32}}, true);
  add(CpuEvent::kFork, "fork", task, false);
  add(CpuEvent::kExec, "exec", comm, false);
  add(CpuEvent::kComm, "comm", comm, false);
  add(CpuEvent::kExit, "exit", task, false);
  add(CpuEvent::kFault, "fault",
      {{"pid", F::kInt32}, {"tid", F::kInt32}, {"address", F::kPointer}},
      false);
  add(CpuEvent::kProcessState, "process_state",
      {{"pid", F::kInt32},
       {"tid", F::kInt32},
       {"parent_pid", F::kInt32},
       {"flags", F::kUint32},
       {"comm", F::kComm}},
      false);
  add(CpuEvent::kSwitchIn, "switch_in",
      {{"prev_tid", F::kUint24},
       {"next_tid", F::kUint24},
       {"prev_state", F::kUint16}},
      false);
  add(CpuEvent::kWakeup, "wakeup",
      {{"waker_tid", F::kUint24},
       {"wakee_tid", F::kUint24},
       {"target_cpu", F::kUint16}},
      false);
  add(CpuEvent::kOwner, "owner",
      {{"pid", F::kInt32},
       {"uid", F::kUint32},
       {"cgroup", F::kUint64},
       {"own_pid", F::kInt32},
       {"host_pid", F::kInt32}},
      false);
}

// The names of their values are countrace's own, and as such in the metadata.
bool HasChosenNames(const HookInfo& hook) {
  return IsBlockPoint(hook) || hook.provider == kSampleProvider;
}

// Records that the kernel recorder writes at hooks, in the CPU streams.
void AddKernelHookClasses(const TraceInfo& info,
                          std::vector<EventClass>& classes) {
  const std::vector<EventField> counters =
      DumpFields(info.cpu_events, info.cpu_sets(), /*has_head=*/false);
  const auto add = [&](std::uint32_t id, const std::string& name,
                       const HookInfo& hook, bool exit) {
    const auto& types = exit ? hook.exit_payload : hook.payload;
    const auto& names = exit ? hook.exit_payload_names : hook.payload_names;
    for (const bool dump : {false, true}) {
      if (dump && counters.empty()) continue;
      std::vector<EventField> fields = {{"tid", FieldType::kUint24},
                                        {"pid", FieldType::kUint24},
                                        {"number", FieldType::kUint16}};
      if (dump) fields.insert(fields.end(), counters.begin(), counters.end());
      if (exit) fields.push_back({"ret", FieldType::kInt64});
      for (std::size_t i = 0; i < names.size(); ++i) {
        EventField field = {OtherName(names[i], fields, {}),
                            PayloadField(types[i])};
        field.any_name = !HasChosenNames(hook);
        const std::size_t value = i + (exit ? hook.payload.size() : 0);
        if (value < hook.number_names.size()) {
          field.names = hook.number_names[value];
        }
        fields.push_back(std::move(field));
      }
      classes.push_back(
          {StreamClass::kCpu,
           static_cast<std::uint16_t>(dump ? id | kEventDumpBit : id),
           name,
           {},
           std::move(fields)});
    }
  };
  for (const HookInfo& hook : info.hooks) {
    if (hook.origin == HookOrigin::kProgram) continue;
    const std::string name = OneLine(hook.FullName());
    if (hook.kind == HookKind::kPoint) {
      add(hook.id * 2, name, hook, false);
    } else {
      add(hook.id * 2, name + "__enter", hook, false);
      add(hook.id * 2 + kEventExitBit, name + "__exit", hook, true);
    }
  }
}

void AddClockClass(std::vector<EventClass>& classes) {
  using F = FieldType;
  classes.push_back({StreamClass::kClock,
                     kClockSampleEvent,
                     "clock_sample",
                     {},
                     {{"width_ns", F::kUint64},
                      {"realtime_ns", F::kUint64},
                      {"tai_ns", F::kUint64},
                      {"raw", F::kUint64},
                      {"offset_ns", F::kInt64},
                      {"frequency", F::kInt64},
                      {"max_error_us", F::kUint64},
                      {"estimated_error_us", F::kUint64},
                      {"status", F::kUint32},
                      {"state", F::kInt32}}});
}

void AddThreadClasses(const TraceInfo& info, std::vector<EventClass>& classes) {
  std::vector<EventField> dump;
  if (!info.thread_events.empty()) {
    dump =
        DumpFields(info.thread_events, info.thread_sets(), /*has_head=*/true);
  }
  const auto add = [&](std::uint32_t id, std::string name,
                       std::vector<EventField> fields) {
    classes.push_back({StreamClass::kThread,
                       static_cast<std::uint16_t>(id),
                       name,
                       {},
                       fields});
    if (dump.empty()) return;
    if (info.thread_sets().rotates()) {
      // babeltrace2 2.0.4 aborts on a variant in an event's context.
      fields.insert(fields.begin(), dump.begin(), dump.end());
      classes.push_back({StreamClass::kThread,
                         static_cast<std::uint16_t>(id | kEventDumpBit),
                         std::move(name),
                         {},
                         std::move(fields)});
      return;
    }
    classes.push_back({StreamClass::kThread,
                       static_cast<std::uint16_t>(id | kEventDumpBit),
                       std::move(name), dump, std::move(fields)});
  };
  for (const HookInfo& hook : info.hooks) {
    if (hook.origin != HookOrigin::kProgram) continue;
    std::vector<EventField> fields;
    for (std::size_t i = 0; i < hook.payload.size(); ++i) {
      const FieldType type = PayloadField(hook.payload[i]);
      if (hook.payload_names.empty()) {
        fields.push_back({absl::StrFormat("arg%d", i), type});
      } else {
        fields.push_back({OtherName(hook.payload_names[i], fields, dump),
                          type,
                          {},
                          /*any_name=*/true});
      }
    }
    const std::string name = OneLine(hook.FullName());
    if (hook.kind == HookKind::kPoint) {
      add(hook.id * 2, name, std::move(fields));
    } else {
      add(hook.id * 2, name + "__enter", std::move(fields));
      add(hook.id * 2 + kEventExitBit, name + "__exit", {});
    }
  }
}

}  // namespace

std::size_t FieldBytes(const EventField& field) {
  switch (field.type) {
    case FieldType::kUint16:
      return 2;
    case FieldType::kUint24:
      return 3;
    case FieldType::kUint32:
    case FieldType::kInt32:
    case FieldType::kMmcr:
      return 4;
    case FieldType::kUint64:
    case FieldType::kInt64:
    case FieldType::kPointer:
    case FieldType::kDouble:
    case FieldType::kCounter:
      return 8;
    case FieldType::kComm:
      return 16;
    case FieldType::kEventSet:
      return field.options.front().size() * 8;
    case FieldType::kString:
      break;
  }
  return 0;
}

std::vector<EventClass> EventClasses(const TraceInfo& info) {
  std::vector<EventClass> classes;
  AddCpuClasses(info, classes);
  AddKernelHookClasses(info, classes);
  if (info.clock_packets) AddClockClass(classes);
  AddThreadClasses(info, classes);
  return classes;
}

std::vector<std::string> CounterFieldNames(
    const std::vector<std::string>& event_names) {
  std::set<std::string> taken = {
      "prev_tid",     "next_tid", "prev_state", "reason", "running_tid", "mmcr",
      "present",      "tid",      "pid",        "number", "ret",         "set",
      "time_running", "sector",   "bytes",      "device"};
  std::vector<std::string> names;
  for (const std::string& event : event_names) {
    std::string base;
    for (const char c : event) base += IsIdentifierCharacter(c) ? c : '_';
    std::string name = base;
    for (int n = 2; !taken.insert(name).second; ++n) {
      name = absl::StrFormat("%s_%d", base, n);
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace countrace::logformat
