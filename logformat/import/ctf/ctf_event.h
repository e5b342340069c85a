// An event of a CTF trace, decoded by libbabeltrace2, as EventFields.
//
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_CTF_EVENT_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_CTF_EVENT_H_

#include <babeltrace2/babeltrace.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "logformat/import/field_values.h"
#include "logformat/import/mapping/event_plan.h"

namespace countrace::importer {

// Place of `name`, contexts first; nullopt: there is no such field.
std::optional<FieldPlace> FindField(const bt_event_class& event,
                                    std::string_view name);

// "event:ID" if it has no name.
std::string NameOf(const bt_event_class& event_class);

template <typename Function>
void ForEachEventClass(const bt_stream* stream, const Function& function) {
  const bt_stream_class* type = bt_stream_borrow_class_const(stream);
  const std::uint64_t count = bt_stream_class_get_event_class_count(type);
  for (std::uint64_t i = 0; i < count; ++i) {
    function(*bt_stream_class_borrow_event_class_by_index_const(type, i));
  }
}

struct CtfEventPlan : EventPlan {
  PayloadPlan payload;

  // Events of this class keep their payload.
  void TakePayload(const bt_event_class& event_class) {
    payload = PayloadPlan(
        bt_event_class_borrow_payload_field_class_const(&event_class));
    payload_types = payload.types();
    payload_names = payload.Names();
  }
};

// Holds references only: valid as long as the message.
class CtfEvent final : public EventFields {
 public:
  CtfEvent(const bt_event& event, const CtfEventPlan& plan)
      : event_(event), plan_(plan) {}

  std::optional<std::int64_t> Integer(FieldPlace place) const override {
    return IntegerOf(At(place));
  }
  std::optional<std::string_view> Text(FieldPlace place) const override;
  std::optional<std::string> Bytes(FieldPlace place,
                                   std::size_t limit) const override;
  void AppendText(FieldPlace place, std::string& out) const override;
  void AppendPayload(std::string& out) const override {
    plan_.payload.Encode(bt_event_borrow_payload_field_const(&event_), out);
  }

 private:
  const bt_field* At(FieldPlace place) const;  // null: no such field

  const bt_event& event_;
  const CtfEventPlan& plan_;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_CTF_EVENT_H_
