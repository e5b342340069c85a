// Converts a Status to the result of a component's method: the library needs a
// code, and the reasons as causes of the thread's error. No exception may leave
// a method.
//
// Thread: the method's.
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_METHOD_STATUS_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_METHOD_STATUS_H_

#include <babeltrace2/babeltrace.h>

#include <exception>
#include <string>

#include "absl/status/status.h"

namespace countrace::rmap::babeltrace_plugin {

// Appends `status` to the thread's error, as a cause from the component, the
// message iterator or the component class.
inline void AppendCause(bt_self_component* self, const absl::Status& status) {
  BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(
      self, "%s", std::string(status.message()).c_str());
}
inline void AppendCause(bt_self_message_iterator* self,
                        const absl::Status& status) {
  BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_MESSAGE_ITERATOR(
      self, "%s", std::string(status.message()).c_str());
}
inline void AppendCause(bt_self_component_class* self,
                        const absl::Status& status) {
  BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT_CLASS(
      self, "%s", std::string(status.message()).c_str());
}

// Returns the absl::Status of `method`; an exception (no memory) becomes one.
template <typename Method>
absl::Status Guarded(const Method& method) {
  try {
    return method();
  } catch (const std::exception& exception) {
    return absl::InternalError(exception.what());
  }
}

// The library uses the same numbers in all enumerations of methods. CANCELLED:
// interrupted.
template <typename MethodStatus, typename Self>
MethodStatus ToMethodStatus(Self* self, const absl::Status& status) {
  auto code = BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
  if (absl::IsCancelled(status)) {
    code = BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_AGAIN;
  } else if (!status.ok()) {
    AppendCause(self, status);
    code = BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
  }
  return static_cast<MethodStatus>(code);
}

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_METHOD_STATUS_H_
