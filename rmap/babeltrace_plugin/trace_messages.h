// The messages of one CTF trace, one after the other, from a graph of its own
// with the library's source.ctf.fs and its muxer.
//
// The messages belong to the library and outlive the graph.
// In: a trace directory. Out: messages, in time order. Thread: one.
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
  // Errors: INVALID_ARGUMENT: the library's message about the trace.
  static absl::StatusOr<std::unique_ptr<TraceMessages>> Open(
      const std::string& directory);
  TraceMessages(const TraceMessages&) = delete;
  TraceMessages& operator=(const TraceMessages&) = delete;
  ~TraceMessages();

  // Returns the next message, a reference for the caller; null: there is none.
  // Errors: INVALID_ARGUMENT: the library's message about the trace.
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

// The result of the query `babeltrace.trace-infos` of `source.ctf.fs`: a
// reference for the caller. Errors: those of Open().
absl::StatusOr<const bt_value*> QueryTraceInfos(const std::string& directory);

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_TRACE_MESSAGES_H_
