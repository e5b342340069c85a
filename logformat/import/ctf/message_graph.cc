// More than 400 lines: one class, which runs libbabeltrace2's graph, and the
// order in which it reads its inputs.
#include "logformat/import/ctf/message_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "logformat/import/ctf/library_error.h"
#include "logformat/import/stream_clocks.h"
#include "logformat/read/stream_merge.h"

namespace countrace::importer {
namespace {

// StreamMerge orders unsigned times.
constexpr std::uint64_t kTimeFlip = std::uint64_t{1} << 63;
constexpr std::uint64_t kAtEnd = ~std::uint64_t{0};

// One stream of one trace.
struct Input {
  bt_message_iterator* iterator = nullptr;
  bt_message_array_const messages = nullptr;
  std::uint64_t count = 0, at = 0;
  std::int64_t time_ns = INT64_MIN;  // of messages[at]
  const bt_stream* stream = nullptr;
  bool ended = false;

  void DropRest() {
    for (; at < count; ++at) bt_message_put_ref(messages[at]);
  }
};

// Loaded once, for ever.
absl::StatusOr<const bt_plugin*> CtfPlugin() {
  static const bt_plugin* plugin = nullptr;
  // Only the library's own plug-ins: none from the user or the environment.
  if (plugin == nullptr &&
      bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_FALSE, BT_TRUE,
                     &plugin) != BT_PLUGIN_FIND_STATUS_OK) {
    plugin = nullptr;
    return LibraryError(
        "libbabeltrace2 does not find its plug-in for CTF (package "
        "libbabeltrace2-0)");
  }
  return plugin;
}

// Null: `map` is no map, or has no such entry.
const bt_value* EntryOf(const bt_value* map, const char* key) {
  if (map == nullptr || !bt_value_is_map(map)) return nullptr;
  return bt_value_map_borrow_entry_value_const(map, key);
}

template <typename Function>
void ForEachElement(const bt_value* array, const Function& function) {
  if (array == nullptr || !bt_value_is_array(array)) return;
  for (std::uint64_t i = 0; i < bt_value_array_get_length(array); ++i) {
    function(bt_value_array_borrow_element_by_index_const(array, i));
  }
}

void AddExtent(const bt_component_class_source& source_class,
               const std::string& directory, SourceExtent& extent) {
  bt_value* params = bt_value_map_create();
  bt_value* inputs = nullptr;
  bt_value_map_insert_empty_array_entry(params, "inputs", &inputs);
  bt_value_array_append_string_element(inputs, directory.c_str());
  bt_query_executor* query = bt_query_executor_create(
      bt_component_class_source_as_component_class_const(&source_class),
      "babeltrace.trace-infos", params);
  const bt_value* traces = nullptr;
  const auto status = bt_query_executor_query(query, &traces);
  bt_query_executor_put_ref(query);
  bt_value_put_ref(params);
  if (status != BT_QUERY_EXECUTOR_QUERY_STATUS_OK) {
    // The error on reading it gives a better reason.
    bt_current_thread_clear_error();
    return;
  }
  ForEachElement(traces, [&](const bt_value* trace) {
    ForEachElement(EntryOf(trace, "stream-infos"), [&](const bt_value* stream) {
      ++extent.streams;
      TimeRange& range = extent.range;
      const bt_value* times = EntryOf(stream, "range-ns");
      const bt_value* begin = EntryOf(times, "begin");
      const bt_value* end = EntryOf(times, "end");
      if (begin == nullptr || !bt_value_is_signed_integer(begin) ||
          end == nullptr || !bt_value_is_signed_integer(end)) {
        return;
      }
      range.begin_ns =
          std::min(range.begin_ns, bt_value_integer_signed_get(begin));
      range.end_ns = std::max(range.end_ns, bt_value_integer_signed_get(end));
    });
  });
  bt_value_put_ref(traces);
}

class Reading {
 public:
  explicit Reading(MessageReceiver& receiver) : receiver_(receiver) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() {
    if (graph_ != nullptr) bt_graph_put_ref(graph_);
    if (sink_class_ != nullptr) bt_component_class_sink_put_ref(sink_class_);
  }

  absl::Status Run(const std::vector<std::string>& directories);

 private:
  absl::Status AddSources(const std::vector<std::string>& directories);
  std::string GroupOf(const std::string& directory);
  absl::Status AddSink();
  absl::Status Prime();
  // Makes the message after messages[at] the current one.
  absl::Status Advance(Input& input);
  absl::Status TakeTime(Input& input);
  absl::Status Consume();
  // Hands over the next message of this stream, at `time_ns`. False: it was the
  // last one.
  absl::StatusOr<bool> PassOn(std::uint32_t number, std::int64_t time_ns);
  // The next messages of a trace without a clock.
  absl::Status ConsumeInFileOrder();

  static bt_component_class_initialize_method_status Initialize(
      bt_self_component_sink* self, bt_self_component_sink_configuration*,
      const bt_value*, void* data);
  static bt_component_class_sink_graph_is_configured_method_status Configured(
      bt_self_component_sink* self);
  static bt_component_class_sink_consume_method_status OnConsume(
      bt_self_component_sink* self);
  static void Finalize(bt_self_component_sink* self);
  static Reading& Of(bt_self_component_sink* self) {
    return *static_cast<Reading*>(bt_self_component_get_data(
        bt_self_component_sink_as_self_component(self)));
  }

  MessageReceiver& receiver_;
  const bt_component_class_source* source_class_ = nullptr;
  bt_component_class_sink* sink_class_ = nullptr;
  bt_graph* graph_ = nullptr;
  std::vector<const bt_port_output*> ports_;
  std::vector<Input> inputs_;
  std::optional<logformat::StreamMerge> merge_;
  bool have_clocks_ = true;
  // Without clocks: events so far, which stand for times.
  std::int64_t events_ = 0;
  absl::Status status_;  // our own error, while the graph runs
};

std::string Reading::GroupOf(const std::string& directory) {
  bt_value* params = bt_value_map_create();
  bt_value_map_insert_string_entry(params, "type", "directory");
  bt_value_map_insert_string_entry(params, "input", directory.c_str());
  bt_query_executor* query = bt_query_executor_create(
      bt_component_class_source_as_component_class_const(source_class_),
      "babeltrace.support-info", params);
  const bt_value* result = nullptr;
  const auto status = bt_query_executor_query(query, &result);
  bt_query_executor_put_ref(query);
  bt_value_put_ref(params);
  if (status != BT_QUERY_EXECUTOR_QUERY_STATUS_OK) {
    // The error on opening it gives a better reason.
    bt_current_thread_clear_error();
    return "";
  }
  std::string group;
  if (bt_value_get_type(result) == BT_VALUE_TYPE_MAP) {
    const bt_value* value =
        bt_value_map_borrow_entry_value_const(result, "group");
    if (value != nullptr && bt_value_get_type(value) == BT_VALUE_TYPE_STRING) {
      group = bt_value_string_get(value);
    }
  }
  bt_value_put_ref(result);
  return group;
}

absl::Status Reading::AddSources(const std::vector<std::string>& directories) {
  // Pieces of one trace that was rotated have its uuid.
  std::map<std::string, std::vector<std::string>> groups;
  std::vector<std::string> order;
  for (const std::string& directory : directories) {
    const std::string group = GroupOf(directory);
    // A trace without a uuid is a group of its own.
    const std::string key = group.empty() ? directory : group;
    if (!groups.contains(key)) order.push_back(key);
    groups[key].push_back(directory);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    bt_value* params = bt_value_map_create();
    bt_value* inputs = nullptr;
    bt_value_map_insert_empty_array_entry(params, "inputs", &inputs);
    for (const std::string& directory : groups[order[i]]) {
      bt_value_array_append_string_element(inputs, directory.c_str());
    }
    const bt_component_source* source = nullptr;
    const auto status = bt_graph_add_source_component(
        graph_, source_class_, absl::StrFormat("trace-%d", i).c_str(), params,
        BT_LOGGING_LEVEL_ERROR, &source);
    bt_value_put_ref(params);
    if (status != BT_GRAPH_ADD_COMPONENT_STATUS_OK) {
      return LibraryError(
          absl::StrFormat("Cannot read %s", groups[order[i]].front()));
    }
    const std::uint64_t ports =
        bt_component_source_get_output_port_count(source);
    for (std::uint64_t port = 0; port < ports; ++port) {
      ports_.push_back(
          bt_component_source_borrow_output_port_by_index_const(source, port));
    }
  }
  return absl::OkStatus();
}

absl::Status Reading::AddSink() {
  sink_class_ = bt_component_class_sink_create("import", OnConsume);
  if (sink_class_ == nullptr) return LibraryError("Cannot make a graph");
  bt_component_class_sink_set_initialize_method(sink_class_, Initialize);
  bt_component_class_sink_set_graph_is_configured_method(sink_class_,
                                                         Configured);
  bt_component_class_sink_set_finalize_method(sink_class_, Finalize);
  const bt_component_sink* sink = nullptr;
  if (bt_graph_add_sink_component_with_initialize_method_data(
          graph_, sink_class_, "import", nullptr, this, BT_LOGGING_LEVEL_NONE,
          &sink) != BT_GRAPH_ADD_COMPONENT_STATUS_OK) {
    return LibraryError("Cannot make a graph");
  }
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (bt_graph_connect_ports(
            graph_, ports_[i],
            bt_component_sink_borrow_input_port_by_index_const(sink, i),
            nullptr) != BT_GRAPH_CONNECT_PORTS_STATUS_OK) {
      return LibraryError("Cannot make a graph");
    }
  }
  return absl::OkStatus();
}

bt_component_class_initialize_method_status Reading::Initialize(
    bt_self_component_sink* self, bt_self_component_sink_configuration*,
    const bt_value*, void* data) {
  bt_self_component_set_data(bt_self_component_sink_as_self_component(self),
                             data);
  const Reading& reading = *static_cast<Reading*>(data);
  for (std::size_t i = 0; i < reading.ports_.size(); ++i) {
    if (bt_self_component_sink_add_input_port(
            self, absl::StrFormat("in%d", i).c_str(), nullptr, nullptr) !=
        BT_SELF_COMPONENT_ADD_PORT_STATUS_OK) {
      return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    }
  }
  return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

bt_component_class_sink_graph_is_configured_method_status Reading::Configured(
    bt_self_component_sink* self) {
  Reading& reading = Of(self);
  reading.inputs_.resize(reading.ports_.size());
  for (std::size_t i = 0; i < reading.inputs_.size(); ++i) {
    if (bt_message_iterator_create_from_sink_component(
            self, bt_self_component_sink_borrow_input_port_by_index(self, i),
            &reading.inputs_[i].iterator) !=
        BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK) {
      return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
    }
  }
  return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

void Reading::Finalize(bt_self_component_sink* self) {
  for (Input& input : Of(self).inputs_) {
    input.DropRest();
    if (input.iterator != nullptr) bt_message_iterator_put_ref(input.iterator);
    input.iterator = nullptr;
  }
}

absl::Status Reading::TakeTime(Input& input) {
  if (!have_clocks_) return absl::OkStatus();
  const auto time_ns = TimeOf(*input.messages[input.at]);
  if (!time_ns.ok()) return time_ns.status();
  if (*time_ns) input.time_ns = std::max(input.time_ns, **time_ns);
  return absl::OkStatus();
}

absl::Status Reading::Advance(Input& input) {
  if (input.count != 0) bt_message_put_ref(input.messages[input.at++]);
  while (input.at == input.count) {
    input.at = input.count = 0;
    switch (bt_message_iterator_next(input.iterator, &input.messages,
                                     &input.count)) {
      case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
        break;
      case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
        input.count = 0;
        input.ended = true;
        return absl::OkStatus();
      default:
        input.count = 0;
        input.ended = true;
        return LibraryError("libbabeltrace2 cannot read the trace on");
    }
  }
  return TakeTime(input);
}

absl::Status Reading::Prime() {
  std::vector<const bt_stream*> streams;
  std::vector<std::uint64_t> next;
  for (Input& input : inputs_) {
    if (absl::Status status = Advance(input); !status.ok()) return status;
    if (!input.ended && bt_message_get_type(input.messages[input.at]) ==
                            BT_MESSAGE_TYPE_STREAM_BEGINNING) {
      input.stream = bt_message_stream_beginning_borrow_stream_const(
          input.messages[input.at]);
    }
    streams.push_back(input.stream);
    // The stream's beginning has no time: use the first message that has one.
    for (std::uint64_t i = input.at;
         !input.ended && i < input.count && input.time_ns == INT64_MIN; ++i) {
      const std::uint64_t at = std::exchange(input.at, i);
      absl::Status status = TakeTime(input);
      input.at = at;
      if (!status.ok()) return status;
    }
    next.push_back(input.ended
                       ? kAtEnd
                       : static_cast<std::uint64_t>(input.time_ns) ^ kTimeFlip);
  }
  if (absl::Status status = CheckClocks(streams); !status.ok()) return status;
  have_clocks_ = HaveClocks(streams);
  merge_.emplace(next);
  return receiver_.OnStreams(streams);
}

absl::StatusOr<bool> Reading::PassOn(std::uint32_t number,
                                     std::int64_t time_ns) {
  Input& input = inputs_[number];
  absl::Status status =
      receiver_.OnMessage(*input.messages[input.at], time_ns, number);
  if (status.ok()) status = Advance(input);
  if (!status.ok()) return status;
  if (input.ended) merge_->Advance(kAtEnd);
  return !input.ended;
}

absl::Status Reading::ConsumeInFileOrder() {
  const std::uint32_t number = merge_->stream();
  const Input& input = inputs_[number];
  constexpr int kMost = 1024;
  for (int i = 0; i < kMost; ++i) {
    if (bt_message_get_type(input.messages[input.at]) ==
        BT_MESSAGE_TYPE_EVENT) {
      ++events_;
    }
    const absl::StatusOr<bool> more = PassOn(number, events_);
    if (!more.ok() || !*more) return more.status();
  }
  return absl::OkStatus();
}

// Passes on successive messages of one stream.
absl::Status Reading::Consume() {
  if (!merge_) {
    if (absl::Status status = Prime(); !status.ok()) return status;
  }
  if (merge_->at_end()) return absl::OkStatus();
  if (!have_clocks_) return ConsumeInFileOrder();
  const std::uint32_t number = merge_->stream();
  const Input& input = inputs_[number];
  const std::uint64_t limit = merge_->limit_ns();
  for (;;) {
    const absl::StatusOr<bool> more = PassOn(number, input.time_ns);
    if (!more.ok() || !*more) return more.status();
    const std::uint64_t next =
        static_cast<std::uint64_t>(input.time_ns) ^ kTimeFlip;
    if (next >= limit) {
      merge_->Advance(next);
      return absl::OkStatus();
    }
  }
}

bt_component_class_sink_consume_method_status Reading::OnConsume(
    bt_self_component_sink* self) {
  Reading& reading = Of(self);
  reading.status_ = reading.Consume();
  if (!reading.status_.ok()) {
    return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
  }
  return reading.merge_->at_end()
             ? BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END
             : BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

absl::Status Reading::Run(const std::vector<std::string>& directories) {
  const auto plugin = CtfPlugin();
  if (!plugin.ok()) return plugin.status();
  source_class_ =
      bt_plugin_borrow_source_component_class_by_name_const(*plugin, "fs");
  graph_ = bt_graph_create(0);
  if (source_class_ == nullptr || graph_ == nullptr) {
    return LibraryError("Cannot make a graph");
  }
  if (absl::Status status = AddSources(directories); !status.ok()) {
    return status;
  }
  if (ports_.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s holds no stream: nothing was recorded", directories.front()));
  }
  if (absl::Status status = AddSink(); !status.ok()) return status;
  const auto status = bt_graph_run(graph_);
  if (!status_.ok()) {
    bt_current_thread_clear_error();
    return status_;
  }
  if (status != BT_GRAPH_RUN_STATUS_OK) {
    return LibraryError("libbabeltrace2 cannot read the trace");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadCtfReader() { return CtfPlugin().status(); }

SourceExtent FindExtent(const std::vector<std::string>& directories) {
  SourceExtent extent;
  const auto plugin = CtfPlugin();
  if (!plugin.ok()) return extent;
  const bt_component_class_source* source_class =
      bt_plugin_borrow_source_component_class_by_name_const(*plugin, "fs");
  if (source_class == nullptr) return extent;
  for (const std::string& directory : directories) {
    AddExtent(*source_class, directory, extent);
  }
  return extent;
}

absl::Status ReadMessages(const std::vector<std::string>& directories,
                          MessageReceiver& receiver) {
  return Reading(receiver).Run(directories);
}

}  // namespace countrace::importer
