// filter.countrace.rmap: all messages of upstream, and rmap's results among
// them: each dispatch and each call of a segment, at the time of its end.
//
// In: messages of one input port, in time order. Out: the same, and a stream in
// a trace of its own. Thread: the graph's.
#include <memory>
#include <string>
#include <utility>

#include "rmap/babeltrace_plugin/components.h"
#include "rmap/babeltrace_plugin/method_status.h"
#include "rmap/babeltrace_plugin/parameters.h"
#include "rmap/babeltrace_plugin/rmap_messages.h"

namespace countrace::rmap::babeltrace_plugin {
namespace {

absl::Status Initialize(bt_self_component_filter* self,
                        const bt_value* params) {
  std::string map;
  Parameters parameters(params);
  parameters.Text("map", map);
  if (absl::Status status = parameters.Finish(); !status.ok()) return status;
  auto filter = std::make_unique<RmapFilter>();
  filter->self = self;
  if (!map.empty()) {
    auto mapping = importer::ReadMappingFile(map);
    if (!mapping.ok()) return mapping.status();
    filter->mapping = *std::move(mapping);
  }
  if (bt_self_component_filter_add_input_port(self, "in", nullptr, nullptr) !=
          BT_SELF_COMPONENT_ADD_PORT_STATUS_OK ||
      bt_self_component_filter_add_output_port(self, "out", nullptr, nullptr) !=
          BT_SELF_COMPONENT_ADD_PORT_STATUS_OK) {
    return absl::InternalError("Cannot add the ports `in` and `out`");
  }
  bt_self_component_set_data(bt_self_component_filter_as_self_component(self),
                             filter.release());
  return absl::OkStatus();
}

}  // namespace
}  // namespace countrace::rmap::babeltrace_plugin

using countrace::rmap::babeltrace_plugin::Guarded;
using countrace::rmap::babeltrace_plugin::Initialize;
using countrace::rmap::babeltrace_plugin::RmapFilter;
using countrace::rmap::babeltrace_plugin::RmapMessages;
using countrace::rmap::babeltrace_plugin::ToMethodStatus;

bt_component_class_initialize_method_status countrace_rmap_initialize(
    bt_self_component_filter* self, bt_self_component_filter_configuration*,
    const bt_value* params, void*) {
  return ToMethodStatus<bt_component_class_initialize_method_status>(
      bt_self_component_filter_as_self_component(self),
      Guarded([&] { return Initialize(self, params); }));
}

void countrace_rmap_finalize(bt_self_component_filter* self) {
  delete static_cast<RmapFilter*>(bt_self_component_get_data(
      bt_self_component_filter_as_self_component(self)));
}

bt_message_iterator_class_initialize_method_status
countrace_rmap_iterator_initialize(
    bt_self_message_iterator* self,
    bt_self_message_iterator_configuration* configuration,
    bt_self_component_port_output*) {
  return ToMethodStatus<bt_message_iterator_class_initialize_method_status>(
      self, Guarded([&] {
        const auto* filter =
            static_cast<const RmapFilter*>(bt_self_component_get_data(
                bt_self_message_iterator_borrow_component(self)));
        auto messages = std::make_unique<RmapMessages>(self, *filter);
        absl::Status status = messages->Connect(configuration);
        if (status.ok()) {
          bt_self_message_iterator_set_data(self, messages.release());
        }
        return status;
      }));
}

void countrace_rmap_iterator_finalize(bt_self_message_iterator* self) {
  delete RmapMessages::Of(self);
}

bt_message_iterator_class_next_method_status countrace_rmap_next(
    bt_self_message_iterator* self, bt_message_array_const messages,
    uint64_t capacity, uint64_t* count) {
  const auto status =
      ToMethodStatus<bt_message_iterator_class_next_method_status>(
          self, Guarded([&] {
            return RmapMessages::Of(self)->Next(messages, capacity, count);
          }));
  const bool ended =
      status == BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK && *count == 0;
  return ended ? BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END : status;
}

bt_message_iterator_class_seek_beginning_method_status
countrace_rmap_seek_beginning(bt_self_message_iterator* self) {
  return ToMethodStatus<bt_message_iterator_class_seek_beginning_method_status>(
      self, Guarded([&] { return RmapMessages::Of(self)->SeekBeginning(); }));
}

bt_message_iterator_class_can_seek_beginning_method_status
countrace_rmap_can_seek_beginning(bt_self_message_iterator* self,
                                  bt_bool* can_seek) {
  return ToMethodStatus<
      bt_message_iterator_class_can_seek_beginning_method_status>(
      self, Guarded([&]() -> absl::Status {
        const auto can = RmapMessages::Of(self)->CanSeekBeginning();
        *can_seek = can.ok() && *can ? BT_TRUE : BT_FALSE;
        return can.status();
      }));
}
