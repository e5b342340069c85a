// Dispatches and calls of segments as events of a CTF trace of their own:
// `countrace_rmap:dispatch` and `countrace_rmap:segment`.
//
// In: spans. Out: messages. Thread: that of the message iterator.
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_SPAN_EVENTS_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_SPAN_EVENTS_H_

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/babeltrace_plugin/span_spool.h"
#include "rmap/result/tables.h"
#include "rmap/tables/input/attribution.h"

namespace countrace::rmap::babeltrace_plugin {

class SpanEvents {
 public:
  // Makes the trace and its stream. `like`: a clock of the traces behind the
  // spans; `origin_ns`: the begin of the spans' times, from that clock's
  // origin. `plans`: events and the sources of their counts.
  SpanEvents(bt_self_component* component, const bt_clock_class& like,
             std::int64_t origin_ns, const Report& report,
             std::vector<rmap::EventPlan> plans);
  SpanEvents(const SpanEvents&) = delete;
  SpanEvents& operator=(const SpanEvents&) = delete;
  ~SpanEvents();

  // The next span is the first one again.
  void Restart() { last_ns_ = 0; }
  // Returns a reference for the caller; null: no memory.
  const bt_message* Beginning(bt_self_message_iterator* self) const;
  const bt_message* End(bt_self_message_iterator* self) const;
  // An event at the end of `span`, or at the end of the previous span if that
  // is later.
  const bt_message* Event(bt_self_message_iterator* self,
                          const SpanSpool& spool, const SpooledSpan& span);

 private:
  struct Who {
    std::int32_t tid, pid;
    std::string comm;
  };
  struct Count {
    const std::string* event;
    std::uint64_t count;
  };

  void MakeClasses(bt_self_component* component, const bt_clock_class& like,
                   std::int64_t origin_ns);
  bt_event_class* AddEventClass(const char* name,
                                const std::vector<const char*>& fields);
  bt_field_class* FieldClassOf(const std::string& field);
  std::vector<Count> CountsOf(const SpooledSpan& span) const;

  std::vector<rmap::EventPlan> plans_;
  std::size_t thread_events_;
  absl::flat_hash_map<ThreadIndex, Who> threads_;
  std::uint64_t last_ns_ = 0;
  bt_trace_class* trace_class_ = nullptr;
  bt_stream_class* stream_class_ = nullptr;
  bt_event_class* dispatch_ = nullptr;
  bt_event_class* segment_ = nullptr;
  bt_trace* trace_ = nullptr;
  bt_stream* stream_ = nullptr;
};

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_SPAN_EVENTS_H_
