// The messages of one CTF trace, one after the other: a graph of its own, with
// the library's source.ctf.fs and its muxer, that is asked for them.
//
// The messages are the library's and outlive the graph.
// In: a trace directory. Out: messages, in the order of time. Thread: one.
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_TRACE_MESSAGES_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_TRACE_MESSAGES_H_

#include <babeltrace2/babeltrace.h>

#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace countrace::rmap::babeltrace_plugin {

class TraceMessages {
 public:
  // Returns: INVALID_ARGUMENT what the library says of the trace.
  static absl::StatusOr<std::unique_ptr<TraceMessages>> Open(
      const std::string& directory);
  TraceMessages(const TraceMessages&) = delete;
  TraceMessages& operator=(const TraceMessages&) = delete;
  ~TraceMessages();

  // The next one, a reference for the caller; null: there are no more.
  // Returns: INVALID_ARGUMENT what the library says of the trace.
  absl::StatusOr<const bt_message*> Next();

 private:
  TraceMessages() = default;
  absl::Status Build(const std::string& directory);
  static TraceMessages& Of(bt_self_component_sink* self);
  static bt_component_class_initialize_method_status Initialize(
      bt_self_component_sink* self, bt_self_component_sink_configuration*,
      const bt_value*, void* data);
  static bt_component_class_sink_graph_is_configured_method_status Configured(
      bt_self_component_sink* self);
  static bt_component_class_sink_consume_method_status Consume(
      bt_self_component_sink* self);
  static void Finalize(bt_self_component_sink* self);

  bt_graph* graph_ = nullptr;
  bt_message_iterator* iterator_ = nullptr;  // the sink's
  std::deque<const bt_message*> queue_;
  bool at_end_ = false;
};

// What `source.ctf.fs` answers to `babeltrace.trace-infos` of the trace: a
// reference for the caller. Returns: as Open().
absl::StatusOr<const bt_value*> QueryTraceInfos(const std::string& directory);

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_TRACE_MESSAGES_H_
