#include "logformat/import/ctf/process_peek.h"

#include <babeltrace2/babeltrace.h>

#include <optional>
#include <string_view>

#include "logformat/import/ctf/ctf_event.h"
#include "logformat/import/ctf/message_graph.h"

namespace countrace::importer {

namespace {

constexpr std::string_view kState = "lttng_statedump_process_state";
// Names the process of a thread that ended before the dump.
constexpr std::string_view kFork = "sched_process_fork";
constexpr std::string_view kEnd = "lttng_statedump_end";
// A dump at the beginning of a session is shorter.
constexpr std::uint64_t kMaxMessages = 2'000'000;

class Peek final : public MessageReceiver {
 public:
  std::map<std::int32_t, std::int32_t> pids;

  absl::Status OnStreams(
      const std::vector<const bt_stream*>& streams) override {
    bool any = false;
    for (const bt_stream* stream : streams) {
      if (stream == nullptr) continue;
      const bt_stream_class* type = bt_stream_borrow_class_const(stream);
      const std::uint64_t count = bt_stream_class_get_event_class_count(type);
      for (std::uint64_t i = 0; i < count; ++i) {
        const bt_event_class& event =
            *bt_stream_class_borrow_event_class_by_index_const(type, i);
        if (NameOf(event) == kState) {
          any =
              !MemberIndex(
                   bt_stream_class_borrow_event_common_context_field_class_const(
                       type),
                   "pid")
                   .has_value();
        }
      }
    }
    return any ? absl::OkStatus() : absl::CancelledError();
  }

  absl::Status OnMessage(const bt_message& message, std::int64_t,
                         std::size_t) override {
    if (++messages_ > kMaxMessages) return absl::CancelledError();
    if (bt_message_get_type(&message) != BT_MESSAGE_TYPE_EVENT) {
      return absl::OkStatus();
    }
    const bt_event& event = *bt_message_event_borrow_event_const(&message);
    const bt_event_class* type = bt_event_borrow_class_const(&event);
    if (type != state_ && type != fork_ && type != other_) {
      const std::string_view name = NameOf(*type);
      if (name == kEnd) return absl::CancelledError();
      (name == kState ? state_ : name == kFork ? fork_ : other_) = type;
    }
    if (type == other_) return absl::OkStatus();
    const bool fork = type == fork_;
    const CtfEvent fields(event, plan_);
    const auto tid =
        IntegerAt(fields, FindField(*type, fork ? "parent_tid" : "tid"));
    const auto pid =
        IntegerAt(fields, FindField(*type, fork ? "parent_pid" : "pid"));
    if (tid && pid) {
      // Keep the first one: a later one may belong to another thread.
      pids.emplace(static_cast<std::int32_t>(*tid),
                   static_cast<std::int32_t>(*pid));
    }
    return absl::OkStatus();
  }

 private:
  static std::string_view NameOf(const bt_event_class& event) {
    const char* name = bt_event_class_get_name(&event);
    return name == nullptr ? "" : name;
  }

  const CtfEventPlan plan_{};  // empty: fields are found by name
  const bt_event_class* state_ = nullptr;
  const bt_event_class* fork_ = nullptr;
  const bt_event_class* other_ = nullptr;  // the last class that is neither
  std::uint64_t messages_ = 0;
};

}  // namespace

std::map<std::int32_t, std::int32_t> PeekProcesses(
    const std::vector<std::string>& directories) {
  Peek peek;
  ReadMessages(directories, peek).IgnoreError();
  return std::move(peek.pids);
}

}  // namespace countrace::importer
