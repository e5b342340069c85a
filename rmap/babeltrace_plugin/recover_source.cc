// source.countrace.recover: the messages of traces whose recorder died. It does
// not change the traces.
//
// In: directories. Out: an output port for each, with the messages that
// source.ctf.fs makes from the recovered trace. Thread: the graph's.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "logformat/description/trace_directory.h"
#include "rmap/babeltrace_plugin/components.h"
#include "rmap/babeltrace_plugin/method_status.h"
#include "rmap/babeltrace_plugin/parameters.h"
#include "rmap/babeltrace_plugin/recovered_trace.h"
#include "rmap/babeltrace_plugin/trace_messages.h"

namespace countrace::rmap::babeltrace_plugin {
namespace {

using Traces = std::vector<std::unique_ptr<RecoveredTrace>>;

std::string PortName(std::size_t number) {
  return absl::StrFormat("out%d", number);
}

absl::StatusOr<Traces> RecoverInputs(const bt_value* params) {
  std::vector<std::string> inputs;
  Parameters parameters(params);
  parameters.Texts("inputs", inputs);
  if (absl::Status status = parameters.Finish(); !status.ok()) return status;
  if (inputs.empty()) {
    return absl::InvalidArgumentError(
        "Parameter `inputs` names no trace; write inputs=[\"DIRECTORY\"]");
  }
  Traces traces;
  for (const std::string& input : inputs) {
    auto trace = RecoveredTrace::Make(input);
    if (!trace.ok()) return trace.status();
    traces.push_back(*std::move(trace));
  }
  return traces;
}

Traces& TracesOf(bt_self_component* self) {
  return *static_cast<Traces*>(bt_self_component_get_data(self));
}

absl::Status Initialize(bt_self_component_source* self,
                        const bt_value* params) {
  bt_self_component* component =
      bt_self_component_source_as_self_component(self);
  auto traces = RecoverInputs(params);
  if (!traces.ok()) return traces.status();
  const bool speaks = bt_component_get_logging_level(
                          bt_self_component_as_component(component)) <=
                      BT_LOGGING_LEVEL_WARNING;
  for (std::size_t i = 0; i < traces->size(); ++i) {
    RecoveredTrace& trace = *(*traces)[i];
    for (const std::string& message : trace.messages()) {
      if (!speaks) break;
      std::fprintf(stderr, "source.countrace.recover: %s\n",
                   base::EscapeName(message).c_str());
    }
    if (bt_self_component_source_add_output_port(self, PortName(i).c_str(),
                                                 &trace, nullptr) !=
        BT_SELF_COMPONENT_ADD_PORT_STATUS_OK) {
      return absl::InternalError("Cannot add an output port");
    }
  }
  bt_self_component_set_data(component, new Traces(*std::move(traces)));
  return absl::OkStatus();
}

// The messages of one port, from the trace's beginning.
struct Iteration {
  const RecoveredTrace* trace;
  std::unique_ptr<TraceMessages> messages;
};

Iteration& IterationOf(bt_self_message_iterator* self) {
  return *static_cast<Iteration*>(bt_self_message_iterator_get_data(self));
}

// Returns whether there was a message.
absl::StatusOr<bool> Next(bt_self_message_iterator* self,
                          bt_message_array_const messages,
                          std::uint64_t capacity, std::uint64_t* count) {
  Iteration& iteration = IterationOf(self);
  if (iteration.messages == nullptr) {
    auto opened = TraceMessages::Open(iteration.trace->path());
    if (!opened.ok()) return opened.status();
    iteration.messages = *std::move(opened);
  }
  *count = 0;
  while (*count < capacity) {
    const auto message = iteration.messages->Next();
    if (!message.ok()) {
      while (*count > 0) bt_message_put_ref(messages[--*count]);
      return message.status();
    }
    if (*message == nullptr) break;
    messages[(*count)++] = *message;
  }
  return *count != 0;
}

// babeltrace2 sends this query to every source, for each input of the user.
absl::StatusOr<const bt_value*> SupportInfo(const bt_value* params) {
  std::string type, input;
  Parameters parameters(params);
  parameters.Text("type", type);
  parameters.Text("input", input);
  // For a finished trace source.ctf.fs is the better choice; it returns 0.75.
  double weight = 0;
  if (type == "directory") {
    const auto directory = logformat::ListTraceDirectory(input);
    if (directory.ok() && directory->incomplete &&
        logformat::DescribeTrace(*directory).ok()) {
      weight = 0.9;
    }
  }
  bt_value* result = bt_value_map_create();
  bt_value_map_insert_real_entry(result, "weight", weight);
  return result;
}

// As in source.ctf.fs, but with the names of our ports.
void AppendTraceInfo(const bt_value* info, const std::string& port,
                     bt_value* results) {
  const bt_value* streams =
      bt_value_map_borrow_entry_value_const(info, "stream-infos");
  bt_value* result = nullptr;
  bt_value* result_streams = nullptr;
  bt_value_array_append_empty_map_element(results, &result);
  bt_value_map_insert_empty_array_entry(result, "stream-infos",
                                        &result_streams);
  const std::uint64_t count =
      streams == nullptr ? 0 : bt_value_array_get_length(streams);
  for (std::uint64_t i = 0; i < count; ++i) {
    bt_value* copy = nullptr;
    bt_value_array_append_empty_map_element(result_streams, &copy);
    const bt_value* range = bt_value_map_borrow_entry_value_const(
        bt_value_array_borrow_element_by_index_const(streams, i), "range-ns");
    bt_value* range_copy = nullptr;
    if (range != nullptr &&
        bt_value_copy(range, &range_copy) == BT_VALUE_COPY_STATUS_OK) {
      bt_value_map_insert_entry(copy, "range-ns", range_copy);
      bt_value_put_ref(range_copy);
    }
    bt_value_map_insert_string_entry(copy, "port-name", port.c_str());
  }
}

absl::StatusOr<const bt_value*> TraceInfos(const bt_value* params) {
  const auto traces = RecoverInputs(params);
  if (!traces.ok()) return traces.status();
  bt_value* results = bt_value_array_create();
  for (std::size_t i = 0; i < traces->size(); ++i) {
    const auto infos = QueryTraceInfos((*traces)[i]->path());
    if (!infos.ok()) {
      bt_value_put_ref(results);
      return infos.status();
    }
    const std::uint64_t count = bt_value_array_get_length(*infos);
    for (std::uint64_t j = 0; j < count; ++j) {
      AppendTraceInfo(bt_value_array_borrow_element_by_index_const(*infos, j),
                      PortName(i), results);
    }
    bt_value_put_ref(*infos);
  }
  return results;
}

}  // namespace
}  // namespace countrace::rmap::babeltrace_plugin

using countrace::rmap::babeltrace_plugin::Guarded;
using countrace::rmap::babeltrace_plugin::Initialize;
using countrace::rmap::babeltrace_plugin::Iteration;
using countrace::rmap::babeltrace_plugin::IterationOf;
using countrace::rmap::babeltrace_plugin::Next;
using countrace::rmap::babeltrace_plugin::RecoveredTrace;
using countrace::rmap::babeltrace_plugin::SupportInfo;
using countrace::rmap::babeltrace_plugin::ToMethodStatus;
using countrace::rmap::babeltrace_plugin::TraceInfos;
using countrace::rmap::babeltrace_plugin::TracesOf;

bt_component_class_initialize_method_status countrace_recover_initialize(
    bt_self_component_source* self, bt_self_component_source_configuration*,
    const bt_value* params, void*) {
  return ToMethodStatus<bt_component_class_initialize_method_status>(
      bt_self_component_source_as_self_component(self),
      Guarded([&] { return Initialize(self, params); }));
}

void countrace_recover_finalize(bt_self_component_source* self) {
  delete &TracesOf(bt_self_component_source_as_self_component(self));
}

bt_component_class_query_method_status countrace_recover_query(
    bt_self_component_class_source* self, bt_private_query_executor*,
    const char* object, const bt_value* params, void*,
    const bt_value** result) {
  const std::string_view what = object;
  if (what != "babeltrace.support-info" && what != "babeltrace.trace-infos") {
    return BT_COMPONENT_CLASS_QUERY_METHOD_STATUS_UNKNOWN_OBJECT;
  }
  return ToMethodStatus<bt_component_class_query_method_status>(
      bt_self_component_class_source_as_self_component_class(self),
      Guarded([&]() -> absl::Status {
        const auto answer = what == "babeltrace.support-info"
                                ? SupportInfo(params)
                                : TraceInfos(params);
        if (answer.ok()) *result = *answer;
        return answer.status();
      }));
}

bt_message_iterator_class_initialize_method_status
countrace_recover_iterator_initialize(
    bt_self_message_iterator* self,
    bt_self_message_iterator_configuration* configuration,
    bt_self_component_port_output* port) {
  return ToMethodStatus<bt_message_iterator_class_initialize_method_status>(
      self, Guarded([&] {
        // Messages come in time order.
        bt_self_message_iterator_configuration_set_can_seek_forward(
            configuration, BT_TRUE);
        const auto* trace =
            static_cast<RecoveredTrace*>(bt_self_component_port_get_data(
                bt_self_component_port_output_as_self_component_port(port)));
        bt_self_message_iterator_set_data(self, new Iteration{trace, nullptr});
        return absl::OkStatus();
      }));
}

void countrace_recover_iterator_finalize(bt_self_message_iterator* self) {
  delete &IterationOf(self);
}

bt_message_iterator_class_next_method_status countrace_recover_next(
    bt_self_message_iterator* self, bt_message_array_const messages,
    uint64_t capacity, uint64_t* count) {
  bool any = false;
  const auto status =
      ToMethodStatus<bt_message_iterator_class_next_method_status>(
          self, Guarded([&]() -> absl::Status {
            const auto next = Next(self, messages, capacity, count);
            any = next.ok() && *next;
            return next.status();
          }));
  const bool ended =
      status == BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK && !any;
  return ended ? BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END : status;
}

bt_message_iterator_class_seek_beginning_method_status
countrace_recover_seek_beginning(bt_self_message_iterator* self) {
  IterationOf(self).messages.reset();
  return BT_MESSAGE_ITERATOR_CLASS_SEEK_BEGINNING_METHOD_STATUS_OK;
}

bt_message_iterator_class_can_seek_beginning_method_status
countrace_recover_can_seek_beginning(bt_self_message_iterator*,
                                     bt_bool* can_seek) {
  *can_seek = BT_TRUE;
  return BT_MESSAGE_ITERATOR_CLASS_CAN_SEEK_BEGINNING_METHOD_STATUS_OK;
}
