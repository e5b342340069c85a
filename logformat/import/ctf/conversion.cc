#include "logformat/import/ctf/conversion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/import/ctf/lttng_kernel.h"

namespace countrace::importer {

namespace {

// Interval between checks of the output's size, and progress reports.
constexpr std::uint64_t kMessagesBetween = 1 << 15;

struct BuiltIn {
  const char* name;
  EventKind kind;
  std::vector<const char*> fields;
};
const std::vector<BuiltIn>& BuiltIns() {
  static const auto& built_ins = *new std::vector<BuiltIn>{
      {"countrace:enter", EventKind::kNamedEnter, {"name", "payload"}},
      {"countrace:exit", EventKind::kNamedExit, {"name", "payload"}},
      {"countrace:hook", EventKind::kNamedPoint, {"name", "payload"}},
      {"lttng_ust_cyg_profile:func_entry", EventKind::kFunctionEnter, {"addr"}},
      {"lttng_ust_cyg_profile:func_exit", EventKind::kFunctionExit, {"addr"}},
      {"lttng_ust_cyg_profile_fast:func_entry",
       EventKind::kFunctionEnter,
       {"addr"}},
      {"lttng_ust_cyg_profile_fast:func_exit",
       EventKind::kFunctionExit,
       {"addr"}},
      {"lttng_ust_statedump:bin_info",
       EventKind::kObjectLoaded,
       {"baddr", "memsz", "path", "is_pic", ""}},
      {"lttng_ust_statedump:build_id",
       EventKind::kObjectLoaded,
       {"baddr", "", "", "", "build_id"}},
      {"lttng_ust_lib:load",
       EventKind::kObjectLoaded,
       {"baddr", "memsz", "path", "is_pic", ""}},
      {"lttng_ust_lib:build_id",
       EventKind::kObjectLoaded,
       {"baddr", "", "", "", "build_id"}},
      {"lttng_ust_statedump:start", EventKind::kIgnored, {}},
      {"lttng_ust_statedump:end", EventKind::kIgnored, {}},
      {"lttng_ust_statedump:debug_link", EventKind::kIgnored, {}},
      {"lttng_ust_statedump:procname", EventKind::kIgnored, {}},
      {"lttng_ust_lib:unload", EventKind::kIgnored, {}},
      {"lttng_ust_lib:debug_link", EventKind::kIgnored, {}},
  };
  return built_ins;
}

}  // namespace

Conversion::Conversion(TraceOutput& output, const Mapping& mapping,
                       Progress progress)
    : output_(output),
      mapping_(mapping),
      progress_(std::move(progress)),
      user_(output, mapping),
      cpu_records_(output, "LTTng kernel event"),
      kernel_(cpu_records_, output) {}

absl::Status Conversion::AddSource(const bt_stream* source) {
  SourceStream& stream = streams_.emplace_back();
  stream.stream = source;
  stream.made_up_tid =
      kMadeUpTid + static_cast<std::int32_t>(streams_.size() - 1);
  if (source == nullptr) return absl::OkStatus();
  const char* name = bt_stream_get_name(source);
  stream.name = name == nullptr ? "" : name;
  DescribeTrace(*bt_stream_borrow_trace_const(source), stream);
  const bt_field_class* context =
      bt_stream_class_borrow_packet_context_field_class_const(
          bt_stream_borrow_class_const(source));
  stream.cpu_member = MemberIndex(context, "cpu_id");
  stream.per_cpu = stream.cpu_member.has_value();
  ForEachEventClass(source, [&](const bt_event_class& event_class) {
    event_names_.insert(NameOf(event_class));
  });
  return CheckMapping(stream);
}

absl::Status Conversion::OnStreams(
    const std::vector<const bt_stream*>& streams) {
  std::size_t own = 0, others = 0;
  const bt_trace* own_trace = nullptr;
  for (const bt_stream* stream : streams) {
    if (stream == nullptr) continue;
    const bt_trace* trace = bt_stream_borrow_trace_const(stream);
    const bool is_own = IsOwnTrace(*trace);
    ++(is_own ? own : others);
    if (!is_own) continue;
    if (own_trace != nullptr && own_trace != trace) {
      return absl::InvalidArgumentError(
          "Two traces of countrace cannot be read as one");
    }
    own_trace = trace;
  }
  if (own != 0 && others != 0) {
    return absl::InvalidArgumentError(
        "A trace of countrace cannot be read together with others: give its "
        "directory alone");
  }
  DescribeClock(streams);
  if (own != 0) {
    own_ = std::make_unique<OwnEvents>(output_);
    return own_->Begin(*own_trace, streams);
  }
  absl::Status status;
  for (const bt_stream* stream : streams) {
    if (absl::Status added = AddSource(stream); status.ok()) status = added;
  }
  DescribeUserCounters();
  DescribeKernelCounters();
  if (!status.ok()) return status;
  PlanSegments();
  return absl::OkStatus();
}

absl::Status Conversion::OnLateStream(const bt_stream& stream) {
  const bt_trace& trace = *bt_stream_borrow_trace_const(&stream);
  if (IsOwnTrace(trace) != (own_ != nullptr)) {
    return absl::InvalidArgumentError(
        "A trace of countrace cannot be read together with others: give its "
        "directory alone");
  }
  if (own_ != nullptr) return own_->OnLateStream(trace, stream);
  const bool kernel = IsKernelTrace(trace);
  const bool first = std::none_of(
      streams_.begin(), streams_.end(), [&](const SourceStream& other) {
        return other.stream != nullptr && other.kernel == kernel;
      });
  if (absl::Status status = AddSource(&stream); !status.ok()) return status;
  if (first) kernel ? DescribeKernelCounters() : DescribeUserCounters();
  PlanSegments();
  return absl::OkStatus();
}

void Conversion::ClassifyUser(const bt_event_class& event_class,
                              CtfEventPlan& plan) {
  plan.kind = EventKind::kPoint;
  for (std::size_t i = 0; i < mapping_.segments.size(); ++i) {
    const SegmentMapping& segment = mapping_.segments[i];
    const bool begin = segment.begin == plan.name;
    if (!begin && segment.end != plan.name) continue;
    plan.segment = &segment;
    plan.segment_index = i;
    for (const std::string& key : segment.key) {
      if (const auto field = FindField(event_class, key)) {
        plan.key.push_back(*field);
      }
    }
    plan.kind =
        segment.across_threads
            ? (begin ? EventKind::kRequestBegin : EventKind::kRequestEnd)
            : (begin ? EventKind::kEnter : EventKind::kExit);
    return;
  }
  for (const PointMapping& point : mapping_.points) {
    if (point.event == plan.name) return;
  }
  for (const std::string& glob : mapping_.ignore) {
    if (!MatchesEventGlob(glob, plan.name)) continue;
    plan.kind = EventKind::kIgnored;
    return;
  }
  for (const BuiltIn& built_in : BuiltIns()) {
    if (built_in.name != plan.name) continue;
    plan.kind = built_in.kind;
    const bt_field_class* payload =
        bt_event_class_borrow_payload_field_class_const(&event_class);
    for (const char* field : built_in.fields) {
      const auto member = MemberIndex(payload, field);
      plan.fields.push_back(
          member ? std::optional(FieldPlace{FieldScope::kPayload, *member})
                 : std::nullopt);
    }
  }
}

CtfEventPlan& Conversion::PlanOf(const bt_event_class& event_class,
                                 bool kernel) {
  std::unique_ptr<CtfEventPlan>& slot = plans_[&event_class];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<CtfEventPlan>();
  CtfEventPlan& plan = *slot;
  plan.name = NameOf(event_class);
  const auto context = [&](const char* name) -> std::optional<FieldPlace> {
    auto place = FindField(event_class, name);
    if (place && place->scope == FieldScope::kPayload) return std::nullopt;
    return place;
  };
  plan.vpid = context("vpid");
  plan.vtid = context("vtid");
  plan.pid = context("pid");
  plan.tid = context("tid");
  plan.procname = context("procname");
  if (kernel) {
    ClassifyLttngKernel(event_class, plan);
    if (plan.kind == EventKind::kSyscallEnter) plan.TakePayload(event_class);
    for (const std::string& glob : mapping_.ignore) {
      if (MatchesEventGlob(glob, plan.name)) plan.kind = EventKind::kIgnored;
    }
    std::uint32_t slot_number = cpu_records_.first_counter();
    for (const std::string& field : kernel_counters_) {
      if (const auto place = context(field.c_str())) {
        plan.counters.push_back({*place, slot_number});
      }
      ++slot_number;
    }
    return plan;
  }
  ClassifyUser(event_class, plan);
  for (std::uint32_t i = 0; i < user_counters_.size(); ++i) {
    bool wanted = i >= mapping_.counters.size();
    if (!wanted) {
      wanted = MatchesEventGlob(mapping_.counters[i].event, plan.name);
    }
    if (!wanted) continue;
    if (const auto place = FindField(event_class, user_counters_[i])) {
      plan.counters.push_back({*place, i});
    }
  }
  plan.TakePayload(event_class);
  user_.Prepare(plan);
  return plan;
}

void Conversion::OnPacketBegin(const bt_packet& packet, SourceStream& stream,
                               std::uint64_t time_ns) {
  const bt_field* context = bt_packet_borrow_context_field_const(&packet);
  stream.packet_events = 0;
  if (context != nullptr && stream.cpu_member) {
    stream.cpu = static_cast<std::int32_t>(
        IntegerOf(bt_field_structure_borrow_member_field_by_index_const(
                      context, *stream.cpu_member))
            .value_or(-1));
    if (stream.cpu > 0xffff)
      stream.cpu = -1;  // damage: no machine has that CPU
    if (stream.cpu >= 0) cpus_.insert(stream.cpu);
  }
  if (stream.kernel && stream.cpu >= 0) {
    cpu_records_.CpuOf(stream.cpu, time_ns);
  }
}

void Conversion::OnPacketEnd(const SourceStream& stream,
                             std::uint64_t time_ns) {
  if (stream.kernel && stream.cpu >= 0) {
    cpu_records_.Until(stream.cpu, time_ns);
  }
}

void Conversion::OnLoss(const bt_message& message, SourceStream& stream,
                        std::uint64_t time_ns) {
  const bool events =
      bt_message_get_type(&message) == BT_MESSAGE_TYPE_DISCARDED_EVENTS;
  const bt_stream_class* type = bt_stream_borrow_class_const(stream.stream);
  std::uint64_t count = 0;
  const bool counted =
      (events ? bt_message_discarded_events_get_count(&message, &count)
              : bt_message_discarded_packets_get_count(&message, &count)) ==
      BT_PROPERTY_AVAILABILITY_AVAILABLE;
  const bt_clock_snapshot* end = nullptr;
  if (events &&
      bt_stream_class_discarded_events_have_default_clock_snapshots(type)) {
    end = bt_message_discarded_events_borrow_end_default_clock_snapshot_const(
        &message);
  } else if (!events &&
             bt_stream_class_discarded_packets_have_default_clock_snapshots(
                 type)) {
    end = bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(
        &message);
  }
  std::uint64_t end_ns = time_ns;
  std::int64_t from_origin = 0;
  if (end != nullptr &&
      bt_clock_snapshot_get_ns_from_origin(end, &from_origin) ==
          BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK) {
    end_ns = std::max(end_ns, TimeOf(from_origin));
  }
  const std::uint64_t records = events && counted ? count : 0;
  const std::uint64_t packets = events || !counted ? 1 : count;
  if (stream.kernel) {
    cpu_records_.Lose(std::max(stream.cpu, 0), records, packets, time_ns,
                      end_ns);
  } else {
    user_.OnLoss(stream, logformat::DiscardCause::kNoSubBuffer, records,
                 packets, time_ns, end_ns);
  }
}

// libbabeltrace2 does not pass on the sizes of packets. The streams are merged
// by time, so the time is how far all of them are.
std::uint64_t Conversion::DoneBytes(std::int64_t from_origin_ns) const {
  const auto [begin_ns, end_ns] = source_range_;
  if (begin_ns >= end_ns || from_origin_ns <= begin_ns) return 0;
  const double share =
      (static_cast<double>(from_origin_ns) - static_cast<double>(begin_ns)) /
      (static_cast<double>(end_ns) - static_cast<double>(begin_ns));
  const std::uint64_t bytes = source_bits_ / 8;
  return static_cast<std::uint64_t>(std::min(share, 1.0) *
                                    static_cast<double>(bytes));
}

absl::Status Conversion::OnMessage(const bt_message& message,
                                   std::int64_t from_origin_ns,
                                   std::size_t input) {
  const std::uint64_t time_ns = TimeOf(from_origin_ns);
  if (++messages_ % kMessagesBetween == 0) {
    progress_(DoneBytes(from_origin_ns), time_ns);
    if (absl::Status status = output_.CheckSize(); !status.ok()) return status;
  }
  if (own_ != nullptr) {
    return own_->OnMessage(message, time_ns, input);
  }
  SourceStream& stream = streams_[input];
  switch (bt_message_get_type(&message)) {
    case BT_MESSAGE_TYPE_EVENT: {
      if (++stream.packet_events > source_bits_) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "A packet of stream %s never ends: it gave more events than the "
            "trace has bits, %d. The trace, or its metadata, is damaged",
            stream.name.empty() ? "(no name)" : stream.name, source_bits_));
      }
      first_ns_ = std::min(first_ns_, time_ns);
      const bt_event* event = bt_message_event_borrow_event_const(&message);
      const bt_event_class* event_class = bt_event_borrow_class_const(event);
      if (event_class != last_class_) {
        last_plan_ = &PlanOf(*event_class, stream.kernel);
        last_class_ = event_class;
      }
      const CtfEvent fields(*event, *last_plan_);
      const SourceEvent source{fields, time_ns, stream};
      if (stream.kernel) {
        kernel_.OnEvent(source, *last_plan_);
      } else {
        user_.OnEvent(source, *last_plan_);
      }
      break;
    }
    case BT_MESSAGE_TYPE_PACKET_BEGINNING:
      first_ns_ = std::min(first_ns_, time_ns);
      OnPacketBegin(*bt_message_packet_beginning_borrow_packet_const(&message),
                    stream, time_ns);
      break;
    case BT_MESSAGE_TYPE_PACKET_END:
      OnPacketEnd(stream, time_ns);
      break;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
      OnLoss(message, stream, time_ns);
      break;
    default:
      break;
  }
  return output_.status();
}

absl::Status Conversion::Finish() {
  if (own_ != nullptr) {
    own_->Finish();
    return output_.status();
  }
  NoteMissingEvents();
  cpu_records_.Finish();
  user_.Finish();
  logformat::TraceInfo& info = output_.description().info;
  info.scope = cpu_records_.any() ? logformat::SessionScope::kSystem
                                  : logformat::SessionScope::kHooksOnly;
  info.cpus = static_cast<std::uint32_t>(cpus_.size());
  info.begin_ns = first_ns_ == ~std::uint64_t{0} ? 0 : first_ns_;
  for (const std::string& tracer : tracers_) {
    info.source += (info.source.empty() ? "" : " and ") + tracer;
  }
  info.source += absl::StrFormat(", read by libbabeltrace2 %d.%d.%d",
                                 bt_version_get_major(), bt_version_get_minor(),
                                 bt_version_get_patch());
  if (!cpu_records_.any()) {
    info.not_known.push_back(
        "on-CPU time, dispatches and waiting (no kernel trace in the session): "
        "absent, not 0");
  }
  return output_.status();
}

}  // namespace countrace::importer
