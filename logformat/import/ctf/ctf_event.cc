#include "logformat/import/ctf/ctf_event.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace countrace::importer {

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

const bt_field* CtfEvent::At(FieldPlace place) const {
  const bt_field* structure = nullptr;
  switch (place.scope) {
    case FieldScope::kCommon:
      structure = bt_event_borrow_common_context_field_const(&event_);
      break;
    case FieldScope::kSpecific:
      structure = bt_event_borrow_specific_context_field_const(&event_);
      break;
    case FieldScope::kPayload:
      structure = bt_event_borrow_payload_field_const(&event_);
      break;
  }
  if (structure == nullptr) return nullptr;
  return bt_field_structure_borrow_member_field_by_index_const(structure,
                                                               place.member);
}

std::optional<std::string_view> CtfEvent::Text(FieldPlace place) const {
  const bt_field* field = At(place);
  if (field == nullptr ||
      bt_field_get_class_type(field) != BT_FIELD_CLASS_TYPE_STRING) {
    return std::nullopt;
  }
  return TextOf(*field);
}

std::optional<std::string> CtfEvent::Bytes(FieldPlace place,
                                           std::size_t limit) const {
  const bt_field* field = At(place);
  if (field == nullptr ||
      bt_field_class_type_is(bt_field_get_class_type(field),
                             BT_FIELD_CLASS_TYPE_ARRAY) == 0) {
    return std::nullopt;
  }
  std::string bytes;
  const std::uint64_t length =
      std::min<std::uint64_t>(limit, bt_field_array_get_length(field));
  for (std::uint64_t i = 0; i < length; ++i) {
    bytes += static_cast<char>(
        IntegerOf(bt_field_array_borrow_element_field_by_index_const(field, i))
            .value_or(0));
  }
  return bytes;
}

void CtfEvent::AppendText(FieldPlace place, std::string& out) const {
  if (const bt_field* field = At(place)) AppendField(*field, out);
}

std::string NameOf(const bt_event_class& event_class) {
  const char* name = bt_event_class_get_name(&event_class);
  if (name != nullptr && *name != '\0') return name;
  return absl::StrFormat("event:%d", bt_event_class_get_id(&event_class));
}

}  // namespace countrace::importer
