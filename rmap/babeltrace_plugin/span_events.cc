#include "rmap/babeltrace_plugin/span_events.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "rmap/babeltrace_plugin/message_feed.h"

namespace countrace::rmap::babeltrace_plugin {

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// Fills in the members of an event's payload, one after the other.
class Payload {
 public:
  explicit Payload(bt_event* event)
      : structure_(bt_event_borrow_payload_field(event)) {}

  void Unsigned(std::uint64_t value) {
    bt_field_integer_unsigned_set_value(Next(), value);
  }
  void Signed(std::int64_t value) {
    bt_field_integer_signed_set_value(Next(), value);
  }
  // Text ends before the first NUL.
  void Text(std::string_view value) { SetText(Next(), value); }
  bt_field* Next() {
    return bt_field_structure_borrow_member_field_by_index(structure_, at_++);
  }
  static void SetText(bt_field* field, std::string_view value) {
    // Cleared first: 2.0.4 shows the previous event's text for an empty one.
    bt_field_string_clear(field);
    bt_field_string_append_with_length(field, value.data(), value.size());
  }

 private:
  bt_field* structure_;
  std::uint64_t at_ = 0;
};

const char* QualityOf(const SpooledSpan::Head& head) {
  if (head.begin_inferred || head.end_inferred) {
    return QualityName(Quality::kInferred);
  }
  const bool exact = !head.on_cpu_known || head.on_cpu_exact;
  return QualityName(exact ? Quality::kExact : Quality::kBounded);
}

}  // namespace

SpanEvents::SpanEvents(bt_self_component* component, const bt_clock_class& like,
                       std::int64_t origin_ns, const Report& report,
                       std::vector<rmap::EventPlan> plans)
    : plans_(std::move(plans)), thread_events_(0) {
  for (const rmap::EventPlan& plan : plans_) {
    if (plan.thread_event) {
      thread_events_ = std::max(thread_events_, *plan.thread_event + 1);
    }
  }
  for (const ThreadRow& row : report.threads) {
    threads_[row.index] = {row.tid, row.pid, row.comm};
  }
  MakeClasses(component, like, origin_ns);
  trace_ = bt_trace_create(trace_class_);
  bt_trace_set_name(trace_, kAddedTracer);
  bt_trace_set_environment_entry_string(trace_, "tracer_name", kAddedTracer);
  stream_ = bt_stream_create(stream_class_, trace_);
  bt_stream_set_name(stream_, kAddedTracer);
}

SpanEvents::~SpanEvents() {
  bt_stream_put_ref(stream_);
  bt_trace_put_ref(trace_);
  bt_event_class_put_ref(segment_);
  bt_event_class_put_ref(dispatch_);
  bt_stream_class_put_ref(stream_class_);
  bt_trace_class_put_ref(trace_class_);
}

void SpanEvents::MakeClasses(bt_self_component* component,
                             const bt_clock_class& like,
                             std::int64_t origin_ns) {
  trace_class_ = bt_trace_class_create(component);
  stream_class_ = bt_stream_class_create(trace_class_);
  bt_stream_class_set_name(stream_class_, kAddedTracer);
  // A clock like the traces', in ns, with the origin of the spans' times. A
  // muxer accepts it by its origin and uuid.
  bt_clock_class* clock = bt_clock_class_create(component);
  if (const char* name = bt_clock_class_get_name(&like); name != nullptr) {
    bt_clock_class_set_name(clock, name);
  }
  if (const bt_uuid uuid = bt_clock_class_get_uuid(&like); uuid != nullptr) {
    bt_clock_class_set_uuid(clock, uuid);
  }
  bt_clock_class_set_origin_is_unix_epoch(
      clock, bt_clock_class_origin_is_unix_epoch(&like));
  std::int64_t seconds = origin_ns / kNsPerSecond;
  std::int64_t rest = origin_ns % kNsPerSecond;
  if (rest < 0) {
    rest += kNsPerSecond;
    --seconds;
  }
  bt_clock_class_set_offset(clock, seconds, static_cast<std::uint64_t>(rest));
  bt_stream_class_set_default_clock_class(stream_class_, clock);
  bt_clock_class_put_ref(clock);
  dispatch_ = AddEventClass("countrace_rmap:dispatch",
                            {"u:cpu", "i:tid", "i:pid", "s:comm", "u:begin",
                             "u:end", "u:on_cpu_ns", "s:quality", "c:counts"});
  segment_ =
      AddEventClass("countrace_rmap:segment",
                    {"i:tid", "i:pid", "s:comm", "s:name", "s:path", "u:begin",
                     "u:end", "i:on_cpu_ns", "s:quality", "c:counts"});
}

// "TYPE:NAME"; c: a sequence of { event, count }.
bt_field_class* SpanEvents::FieldClassOf(const std::string& field) {
  switch (field.front()) {
    case 'u':
      return bt_field_class_integer_unsigned_create(trace_class_);
    case 'i':
      return bt_field_class_integer_signed_create(trace_class_);
    case 's':
      return bt_field_class_string_create(trace_class_);
    default:
      break;
  }
  bt_field_class* element = bt_field_class_structure_create(trace_class_);
  for (const char* member : {"s:event", "u:count"}) {
    bt_field_class* type = FieldClassOf(member);
    bt_field_class_structure_append_member(element, member + 2, type);
    bt_field_class_put_ref(type);
  }
  bt_field_class* array =
      bt_field_class_array_dynamic_create(trace_class_, element, nullptr);
  bt_field_class_put_ref(element);
  return array;
}

bt_event_class* SpanEvents::AddEventClass(
    const char* name, const std::vector<const char*>& fields) {
  bt_event_class* event_class = bt_event_class_create(stream_class_);
  bt_event_class_set_name(event_class, name);
  bt_field_class* payload = bt_field_class_structure_create(trace_class_);
  for (const char* field : fields) {
    bt_field_class* type = FieldClassOf(field);
    bt_field_class_structure_append_member(payload, field + 2, type);
    bt_field_class_put_ref(type);
  }
  bt_event_class_set_payload_field_class(event_class, payload);
  bt_field_class_put_ref(payload);
  return event_class;
}

std::vector<SpanEvents::Count> SpanEvents::CountsOf(
    const SpooledSpan& span) const {
  std::vector<Count> counts;
  const SpooledSpan::Head& head = span.head;
  const auto add_value = [&](const rmap::EventPlan& plan, std::size_t at) {
    if (at < span.values.size() && (head.known >> at & 1u) != 0) {
      counts.push_back({&plan.name, span.values[at]});
    }
  };
  for (const rmap::EventPlan& plan : plans_) {
    if (head.kind == SpooledSpan::Kind::kDispatch) {
      if (plan.cpu_event) add_value(plan, *plan.cpu_event);
      continue;
    }
    // A call with only its end recorded has no counts.
    if (head.begin_inferred) continue;
    switch (plan.source) {
      case SegmentSource::kNone:
        break;
      case SegmentSource::kOnCpuTime:
        if (head.on_cpu_known) counts.push_back({&plan.name, head.on_cpu_ns});
        break;
      case SegmentSource::kSwitches:
        counts.push_back({&plan.name, head.switches});
        break;
      case SegmentSource::kFaults:
        counts.push_back({&plan.name, head.faults});
        break;
      case SegmentSource::kThreadDumps:
        add_value(plan, *plan.thread_event);
        break;
      case SegmentSource::kKernelDumps:
        add_value(plan, thread_events_ + *plan.cpu_event);
        break;
    }
  }
  return counts;
}

const bt_message* SpanEvents::Beginning(bt_self_message_iterator* self) const {
  return bt_message_stream_beginning_create(self, stream_);
}

const bt_message* SpanEvents::End(bt_self_message_iterator* self) const {
  return bt_message_stream_end_create(self, stream_);
}

const bt_message* SpanEvents::Event(bt_self_message_iterator* self,
                                    const SpanSpool& spool,
                                    const SpooledSpan& span) {
  const SpooledSpan::Head& head = span.head;
  last_ns_ = std::max(last_ns_, head.end_ns);
  const bool dispatch = head.kind == SpooledSpan::Kind::kDispatch;
  bt_message* message = bt_message_event_create_with_default_clock_snapshot(
      self, dispatch ? dispatch_ : segment_, stream_, last_ns_);
  if (message == nullptr) return nullptr;
  const auto found = threads_.find(head.thread);
  const Who unknown = {-1, -1, ""};
  const Who& who = found == threads_.end() ? unknown : found->second;
  Payload payload(bt_message_event_borrow_event(message));
  if (dispatch) payload.Unsigned(head.cpu);
  payload.Signed(who.tid);
  payload.Signed(who.pid);
  payload.Text(who.comm);
  if (!dispatch) {
    payload.Text(spool.NameOf(head.path));
    payload.Text(spool.paths()[head.path]);
  }
  payload.Unsigned(head.begin_ns);
  payload.Unsigned(head.end_ns);
  if (dispatch) {
    payload.Unsigned(head.on_cpu_ns);
  } else {
    payload.Signed(head.on_cpu_known ? static_cast<std::int64_t>(head.on_cpu_ns)
                                     : -1);
  }
  payload.Text(QualityOf(head));
  const std::vector<Count> counts = CountsOf(span);
  bt_field* array = payload.Next();
  if (bt_field_array_dynamic_set_length(array, counts.size()) !=
      BT_FIELD_DYNAMIC_ARRAY_SET_LENGTH_STATUS_OK) {
    bt_message_put_ref(message);
    return nullptr;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    bt_field* element = bt_field_array_borrow_element_field_by_index(array, i);
    Payload::SetText(
        bt_field_structure_borrow_member_field_by_index(element, 0),
        *counts[i].event);
    bt_field_integer_unsigned_set_value(
        bt_field_structure_borrow_member_field_by_index(element, 1),
        counts[i].count);
  }
  return message;
}

}  // namespace countrace::rmap::babeltrace_plugin
