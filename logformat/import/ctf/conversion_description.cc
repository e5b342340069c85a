// What Conversion reads before the events: tracer, clock and counters, which
// describe the trace, and the event names that a mapping needs.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "logformat/import/ctf/conversion.h"
#include "logformat/import/ctf/lttng_kernel.h"
#include "logformat/import/kernel/counter_names.h"
#include "logformat/import/stream_clocks.h"
#include "logformat/no_times.h"

namespace countrace::importer {
namespace {

std::string EnvironmentText(const bt_trace& trace, const char* name) {
  const bt_value* value =
      bt_trace_borrow_environment_entry_value_by_name_const(&trace, name);
  if (value == nullptr) return "";
  switch (bt_value_get_type(value)) {
    case BT_VALUE_TYPE_STRING:
      return bt_value_string_get(value);
    case BT_VALUE_TYPE_SIGNED_INTEGER:
      return std::to_string(bt_value_integer_signed_get(value));
    case BT_VALUE_TYPE_UNSIGNED_INTEGER:
      return std::to_string(bt_value_integer_unsigned_get(value));
    default:
      return "";
  }
}

}  // namespace

bool IsKernelTrace(const bt_trace& trace) {
  return EnvironmentText(trace, "domain") == "kernel" ||
         EnvironmentText(trace, "tracer_name") == "lttng-modules";
}

void Conversion::DescribeTrace(const bt_trace& trace, SourceStream& stream) {
  logformat::TraceInfo& info = output_.description().info;
  const std::string tracer = EnvironmentText(trace, "tracer_name");
  stream.kernel = IsKernelTrace(trace);
  const auto take = [](const std::string& text, std::string& into) {
    if (into.empty()) into = text;
  };
  take(EnvironmentText(trace, "hostname"), info.hostname);
  take(EnvironmentText(trace, "kernel_release"), info.kernel_release);
  if (const std::string pid = EnvironmentText(trace, "vpid"); !pid.empty()) {
    stream.pid =
        static_cast<std::int32_t>(std::strtol(pid.c_str(), nullptr, 10));
    const std::string name = EnvironmentText(trace, "procname");
    if (stream.pid > 0 && !name.empty()) {
      user_.NameProcess(stream.pid, name.substr(0, 15));
    }
  }
  std::string text = tracer.empty() ? "an unnamed tracer" : tracer;
  const std::string major = EnvironmentText(trace, "tracer_major");
  if (!major.empty()) {
    text += " " + major + "." + EnvironmentText(trace, "tracer_minor");
  }
  tracers_.insert(text);
}

// The clocks share a timeline: the one with the earliest origin is used.
void Conversion::DescribeClock(const std::vector<const bt_stream*>& streams) {
  if (!HaveClocks(streams)) {
    logformat::TraceInfo& info = output_.description().info;
    info.has_times = false;
    info.not_known.emplace_back(logformat::kNoTimes);
    return;
  }
  bool first = true;
  for (const bt_stream* stream : streams) {
    if (stream == nullptr) continue;
    const bt_clock_class* clock =
        bt_stream_class_borrow_default_clock_class_const(
            bt_stream_borrow_class_const(stream));
    std::int64_t origin_ns = 0;
    if (bt_clock_class_cycles_to_ns_from_origin(clock, 0, &origin_ns) !=
        BT_CLOCK_CLASS_CYCLES_TO_NS_FROM_ORIGIN_STATUS_OK) {
      bt_current_thread_clear_error();
      continue;
    }
    offset_ns_ = first ? origin_ns : std::min(offset_ns_, origin_ns);
    first = false;
    const bt_uuid uuid = bt_clock_class_get_uuid(clock);
    if (uuid != nullptr) {
      std::memcpy(output_.description().info.boot_id.data(), uuid, 16);
    }
  }
  output_.description().info.realtime_offset_ns = offset_ns_;
}

void Conversion::DescribeUserCounters() {
  logformat::TraceInfo& info = output_.description().info;
  const auto add = [&](const std::string& field, const std::string& event) {
    if (user_counters_.size() == logformat::kMaxCounters ||
        std::find(user_counters_.begin(), user_counters_.end(), field) !=
            user_counters_.end()) {
      return;
    }
    user_counters_.push_back(field);
    info.thread_events.push_back(event);
  };
  for (const CounterMapping& counter : mapping_.counters) {
    add(counter.field, counter.name);
  }
  for (const SourceStream& stream : streams_) {
    if (stream.stream == nullptr || stream.kernel) continue;
    ForEachEventClass(stream.stream, [&](const bt_event_class& event_class) {
      const bt_field_class* contexts[] = {
          bt_stream_class_borrow_event_common_context_field_class_const(
              bt_event_class_borrow_stream_class_const(&event_class)),
          bt_event_class_borrow_specific_context_field_class_const(
              &event_class)};
      for (const bt_field_class* context : contexts) {
        for (const std::string& field :
             CounterContexts(context, kThreadCounterPrefix)) {
          add(field, EventOfContext(field));
        }
      }
    });
  }
  std::uint32_t uncertain = 0;
  std::string unsure;
  for (std::size_t i = 0; i < user_counters_.size(); ++i) {
    if (!user_counters_[i].starts_with(kThreadCounterPrefix) ||
        IsSoftwareEvent(info.thread_events[i])) {
      continue;
    }
    uncertain |= 1u << i;
    unsure += (unsure.empty() ? "" : ", ") + info.thread_events[i];
  }
  if (uncertain != 0) {
    info.not_known.push_back(
        "whether the counters of " + unsure +
        " ran all the time (LTTng records no running time): they are marked "
        "as scaled");
  }
  user_.SetCounters(user_counters_.size(), uncertain);
}

void Conversion::DescribeKernelCounters() {
  std::vector<const bt_event_class*> classes;
  for (const SourceStream& stream : streams_) {
    if (stream.stream == nullptr || !stream.kernel) continue;
    ForEachEventClass(stream.stream, [&](const bt_event_class& event_class) {
      classes.push_back(&event_class);
    });
  }
  const LttngKernelClasses described =
      DescribeLttngKernel(classes, output_.description().info);
  kernel_counters_ = described.counter_fields;
  kernel_.SetClasses(described);
}

absl::Status Conversion::CheckMapping(const SourceStream& stream) const {
  absl::Status status;
  if (stream.stream == nullptr) return status;
  ForEachEventClass(stream.stream, [&](const bt_event_class& event_class) {
    const std::string name = NameOf(event_class);
    for (const SegmentMapping& segment : mapping_.segments) {
      if (segment.begin != name && segment.end != name) continue;
      if (stream.kernel) {
        status = absl::InvalidArgumentError(absl::StrFormat(
            "%s: event `%s` is of the kernel; segments can be made of events "
            "of programs only",
            segment.place, name));
        return;
      }
      for (const std::string& key : segment.key) {
        if (FindField(event_class, key)) continue;
        status = absl::InvalidArgumentError(absl::StrFormat(
            "%s: event `%s` has no field `%s`", segment.place, name, key));
      }
    }
  });
  return status;
}

// A name that matches no event is usually misspelt.
void Conversion::NoteMissingEvents() {
  const auto check = [&](const std::string& event, const std::string& place) {
    if (event_names_.contains(event)) return;
    output_.description().info.not_known.push_back(
        absl::StrFormat("%s: the trace has no event `%s`", place, event));
  };
  for (const SegmentMapping& segment : mapping_.segments) {
    check(segment.begin, segment.place);
    check(segment.end, segment.place);
  }
  for (const PointMapping& point : mapping_.points) {
    check(point.event, point.place);
  }
}

// An end may precede the first begin, which describes its hook.
void Conversion::PlanSegments() {
  for (const SourceStream& stream : streams_) {
    if (stream.stream == nullptr || stream.kernel) continue;
    ForEachEventClass(stream.stream, [&](const bt_event_class& event_class) {
      const std::string name = NameOf(event_class);
      for (const SegmentMapping& segment : mapping_.segments) {
        if (segment.begin == name) PlanOf(event_class, /*kernel=*/false);
      }
    });
  }
}

}  // namespace countrace::importer
