#include "rmap/babeltrace_plugin/trace_messages.h"

#include <cstdint>

#include "absl/strings/str_format.h"
#include "logformat/import/ctf/library_error.h"

namespace countrace::rmap::babeltrace_plugin {

namespace {

struct PluginRef {
  const bt_plugin* plugin = nullptr;
  // Loads only the library's own plug-ins, not the user's or the environment's.
  explicit PluginRef(const char* name) {
    if (bt_plugin_find(name, BT_FALSE, BT_FALSE, BT_TRUE, BT_FALSE, BT_TRUE,
                       &plugin) != BT_PLUGIN_FIND_STATUS_OK) {
      plugin = nullptr;
    }
  }
  PluginRef(const PluginRef&) = delete;
  PluginRef& operator=(const PluginRef&) = delete;
  ~PluginRef() {
    if (plugin != nullptr) bt_plugin_put_ref(plugin);
  }
};

absl::Status CannotRead(const std::string& directory) {
  return importer::LibraryError(absl::StrFormat("Cannot read %s", directory));
}

// `inputs`: this directory. Returns a reference for the caller.
bt_value* ParametersOf(const std::string& directory) {
  bt_value* params = bt_value_map_create();
  bt_value* inputs = nullptr;
  bt_value_map_insert_empty_array_entry(params, "inputs", &inputs);
  bt_value_array_append_string_element(inputs, directory.c_str());
  return params;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceMessages>> TraceMessages::Open(
    const std::string& directory) {
  std::unique_ptr<TraceMessages> messages(new TraceMessages());
  absl::Status status = messages->Build(directory);
  if (!status.ok()) return status;
  return messages;
}

TraceMessages::~TraceMessages() {
  for (const bt_message* message : queue_) bt_message_put_ref(message);
  if (graph_ != nullptr) bt_graph_put_ref(graph_);
}

absl::Status TraceMessages::Build(const std::string& directory) {
  const PluginRef ctf("ctf"), utils("utils");
  if (ctf.plugin == nullptr || utils.plugin == nullptr) {
    return importer::LibraryError(
        "libbabeltrace2 does not find its plug-ins ctf and utils (package "
        "libbabeltrace2-0)");
  }
  graph_ = bt_graph_create(0);
  const bt_component_source* source = nullptr;
  bt_value* params = ParametersOf(directory);
  const auto added = bt_graph_add_source_component(
      graph_,
      bt_plugin_borrow_source_component_class_by_name_const(ctf.plugin, "fs"),
      "trace", params, BT_LOGGING_LEVEL_ERROR, &source);
  bt_value_put_ref(params);
  if (added != BT_GRAPH_ADD_COMPONENT_STATUS_OK) return CannotRead(directory);
  const bt_component_filter* muxer = nullptr;
  if (bt_graph_add_filter_component(
          graph_,
          bt_plugin_borrow_filter_component_class_by_name_const(utils.plugin,
                                                                "muxer"),
          "muxer", nullptr, BT_LOGGING_LEVEL_ERROR,
          &muxer) != BT_GRAPH_ADD_COMPONENT_STATUS_OK) {
    return CannotRead(directory);
  }
  const std::uint64_t ports = bt_component_source_get_output_port_count(source);
  for (std::uint64_t i = 0; i < ports; ++i) {
    // The muxer adds a free port after each connection.
    if (bt_graph_connect_ports(
            graph_,
            bt_component_source_borrow_output_port_by_index_const(source, i),
            bt_component_filter_borrow_input_port_by_index_const(muxer, i),
            nullptr) != BT_GRAPH_CONNECT_PORTS_STATUS_OK) {
      return CannotRead(directory);
    }
  }
  bt_component_class_sink* type =
      bt_component_class_sink_create("messages", Consume);
  bt_component_class_sink_set_initialize_method(type, Initialize);
  bt_component_class_sink_set_graph_is_configured_method(type, Configured);
  bt_component_class_sink_set_finalize_method(type, Finalize);
  const bt_component_sink* sink = nullptr;
  const auto made = bt_graph_add_sink_component_with_initialize_method_data(
      graph_, type, "messages", nullptr, this, BT_LOGGING_LEVEL_NONE, &sink);
  bt_component_class_sink_put_ref(type);
  if (made != BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
      bt_graph_connect_ports(
          graph_,
          bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
          bt_component_sink_borrow_input_port_by_index_const(sink, 0),
          nullptr) != BT_GRAPH_CONNECT_PORTS_STATUS_OK) {
    return CannotRead(directory);
  }
  // Without streams, the muxer never sends anything.
  at_end_ = ports == 0;
  return absl::OkStatus();
}

TraceMessages& TraceMessages::Of(bt_self_component_sink* self) {
  return *static_cast<TraceMessages*>(bt_self_component_get_data(
      bt_self_component_sink_as_self_component(self)));
}

bt_component_class_initialize_method_status TraceMessages::Initialize(
    bt_self_component_sink* self, bt_self_component_sink_configuration*,
    const bt_value*, void* data) {
  bt_self_component_set_data(bt_self_component_sink_as_self_component(self),
                             data);
  return bt_self_component_sink_add_input_port(self, "in", nullptr, nullptr) ==
                 BT_SELF_COMPONENT_ADD_PORT_STATUS_OK
             ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK
             : BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
}

bt_component_class_sink_graph_is_configured_method_status
TraceMessages::Configured(bt_self_component_sink* self) {
  return bt_message_iterator_create_from_sink_component(
             self, bt_self_component_sink_borrow_input_port_by_index(self, 0),
             &Of(self).iterator_) ==
                 BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK
             ? BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK
             : BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
}

bt_component_class_sink_consume_method_status TraceMessages::Consume(
    bt_self_component_sink* self) {
  TraceMessages& messages = Of(self);
  bt_message_array_const batch = nullptr;
  std::uint64_t count = 0;
  switch (bt_message_iterator_next(messages.iterator_, &batch, &count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
      messages.queue_.insert(messages.queue_.end(), batch, batch + count);
      return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
      messages.at_end_ = true;
      return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
    default:
      return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
  }
}

void TraceMessages::Finalize(bt_self_component_sink* self) {
  TraceMessages& messages = Of(self);
  if (messages.iterator_ != nullptr) {
    bt_message_iterator_put_ref(messages.iterator_);
  }
}

absl::StatusOr<const bt_message*> TraceMessages::Next() {
  while (queue_.empty() && !at_end_) {
    const auto status = bt_graph_run_once(graph_);
    if (status != BT_GRAPH_RUN_ONCE_STATUS_OK &&
        status != BT_GRAPH_RUN_ONCE_STATUS_END) {
      return importer::LibraryError(
          "libbabeltrace2 cannot read the recovered trace on");
    }
  }
  if (queue_.empty()) return nullptr;
  const bt_message* message = queue_.front();
  queue_.pop_front();
  return message;
}

absl::StatusOr<const bt_value*> QueryTraceInfos(const std::string& directory) {
  const PluginRef ctf("ctf");
  if (ctf.plugin == nullptr) return CannotRead(directory);
  bt_value* params = ParametersOf(directory);
  bt_query_executor* query = bt_query_executor_create(
      bt_component_class_source_as_component_class_const(
          bt_plugin_borrow_source_component_class_by_name_const(ctf.plugin,
                                                                "fs")),
      "babeltrace.trace-infos", params);
  bt_value_put_ref(params);
  const bt_value* result = nullptr;
  const auto status = bt_query_executor_query(query, &result);
  bt_query_executor_put_ref(query);
  if (status != BT_QUERY_EXECUTOR_QUERY_STATUS_OK) return CannotRead(directory);
  return result;
}

}  // namespace countrace::rmap::babeltrace_plugin
