#include "rmap/foreign/event_plan.h"

namespace countrace::rmap::foreign {

std::optional<FieldPlace> FindField(const bt_event_class& event,
                                    std::string_view name) {
  const bt_stream_class* stream =
      bt_event_class_borrow_stream_class_const(&event);
  if (const auto at = MemberIndex(
          bt_stream_class_borrow_event_common_context_field_class_const(stream),
          name)) {
    return FieldPlace{FieldScope::kCommon, *at};
  }
  if (const auto at = MemberIndex(
          bt_event_class_borrow_specific_context_field_class_const(&event),
          name)) {
    return FieldPlace{FieldScope::kSpecific, *at};
  }
  if (const auto at = MemberIndex(
          bt_event_class_borrow_payload_field_class_const(&event), name)) {
    return FieldPlace{FieldScope::kPayload, *at};
  }
  return std::nullopt;
}

const bt_field* FieldAt(const bt_event& event, const FieldPlace& place) {
  const bt_field* structure = nullptr;
  switch (place.scope) {
    case FieldScope::kCommon:
      structure = bt_event_borrow_common_context_field_const(&event);
      break;
    case FieldScope::kSpecific:
      structure = bt_event_borrow_specific_context_field_const(&event);
      break;
    case FieldScope::kPayload:
      structure = bt_event_borrow_payload_field_const(&event);
      break;
  }
  if (structure == nullptr) return nullptr;
  return bt_field_structure_borrow_member_field_by_index_const(structure,
                                                               place.member);
}

std::optional<std::int64_t> IntegerAt(const bt_event& event,
                                      const std::optional<FieldPlace>& place) {
  if (!place) return std::nullopt;
  return IntegerOf(FieldAt(event, *place));
}

}  // namespace countrace::rmap::foreign
