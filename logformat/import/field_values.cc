#include "logformat/import/field_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "absl/strings/str_format.h"
#include "logformat/import/payload_text.h"

namespace countrace::importer {

using logformat::PayloadType;

namespace {

// Deeper fields are rendered, not flattened.
constexpr int kMaxFlattened = 8;
constexpr int kMaxRendered = 32;

bool Is(bt_field_class_type type, bt_field_class_type of) {
  return bt_field_class_type_is(type, of) != 0;
}

template <typename T>
void AppendNumber(T value, std::string& out, int base = 10) {
  char digits[72];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value, base);
  out.append(digits, end.ptr);
}

void AppendReal(double value, std::string& out) {
  char digits[72];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, end.ptr);
}

double RealOf(const bt_field& field, bt_field_class_type type) {
  return type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL
             ? double{bt_field_real_single_precision_get_value(&field)}
             : bt_field_real_double_precision_get_value(&field);
}

void AppendLabels(const bt_field& field, bt_field_class_type type,
                  std::string& out) {
  const bool is_signed = Is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER);
  bt_field_class_enumeration_mapping_label_array labels = nullptr;
  std::uint64_t count = 0;
  const auto status = is_signed
                          ? bt_field_enumeration_signed_get_mapping_labels(
                                &field, &labels, &count)
                          : bt_field_enumeration_unsigned_get_mapping_labels(
                                &field, &labels, &count);
  if (status != BT_FIELD_ENUMERATION_GET_MAPPING_LABELS_STATUS_OK) {
    bt_current_thread_clear_error();
    count = 0;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i != 0) out += '|';
    out += labels[i];
  }
  if (count != 0) return;
  if (is_signed) {
    AppendNumber(bt_field_integer_signed_get_value(&field), out);
  } else {
    AppendNumber(bt_field_integer_unsigned_get_value(&field), out);
  }
}

// As babeltrace2 and `script` print a text of its own.
void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void AppendAny(const bt_field& field, std::string& out, int depth) {
  // More would be cut off: one text is shorter.
  if (out.size() > 4 * kMaxText || depth > kMaxRendered) {
    out += kCut;
    return;
  }
  const bt_field_class_type type = bt_field_get_class_type(&field);
  if (Is(type, BT_FIELD_CLASS_TYPE_ENUMERATION)) {
    AppendLabels(field, type, out);
  } else if (Is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
    const std::uint64_t value = bt_field_integer_unsigned_get_value(&field);
    if (bt_field_class_integer_get_preferred_display_base(
            bt_field_borrow_class_const(&field)) ==
        BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL) {
      out += "0x";
      AppendNumber(value, out, 16);
    } else {
      AppendNumber(value, out);
    }
  } else if (Is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
    AppendNumber(bt_field_integer_signed_get_value(&field), out);
  } else if (Is(type, BT_FIELD_CLASS_TYPE_REAL)) {
    AppendReal(RealOf(field, type), out);
  } else if (type == BT_FIELD_CLASS_TYPE_BOOL) {
    out += bt_field_bool_get_value(&field) ? "true" : "false";
  } else if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY) {
    out += "0x";
    AppendNumber(bt_field_bit_array_get_value_as_integer(&field), out, 16);
  } else if (type == BT_FIELD_CLASS_TYPE_STRING) {
    AppendQuoted(TextOf(field), out);
  } else if (type == BT_FIELD_CLASS_TYPE_STRUCTURE) {
    const bt_field_class* structure = bt_field_borrow_class_const(&field);
    const std::uint64_t members =
        bt_field_class_structure_get_member_count(structure);
    out += "{";
    for (std::uint64_t i = 0; i < members; ++i) {
      out += i == 0 ? " " : ", ";
      out += bt_field_class_structure_member_get_name(
          bt_field_class_structure_borrow_member_by_index_const(structure, i));
      out += " = ";
      AppendAny(
          *bt_field_structure_borrow_member_field_by_index_const(&field, i),
          out, depth + 1);
    }
    out += members == 0 ? "}" : " }";
  } else if (Is(type, BT_FIELD_CLASS_TYPE_ARRAY)) {
    const std::uint64_t length = bt_field_array_get_length(&field);
    out += '[';
    for (std::uint64_t i = 0; i < length; ++i) {
      if (i != 0) out += ", ";
      if (out.size() > 4 * kMaxText) {
        out += kCut;
        break;
      }
      AppendAny(*bt_field_array_borrow_element_field_by_index_const(&field, i),
                out, depth + 1);
    }
    out += ']';
  } else if (Is(type, BT_FIELD_CLASS_TYPE_VARIANT)) {
    AppendAny(*bt_field_variant_borrow_selected_option_field_const(&field), out,
              depth + 1);
  } else if (Is(type, BT_FIELD_CLASS_TYPE_OPTION)) {
    const bt_field* inner = bt_field_option_borrow_field_const(&field);
    if (inner != nullptr) AppendAny(*inner, out, depth + 1);
  }
}

void Store(std::uint64_t value, std::string& out) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.append(bytes, sizeof(bytes));
}

PayloadType TypeOf(const bt_field_class& field, bt_field_class_type type) {
  if (Is(type, BT_FIELD_CLASS_TYPE_ENUMERATION)) return PayloadType::kString;
  if (Is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
    return bt_field_class_integer_get_preferred_display_base(&field) ==
                   BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL
               ? PayloadType::kPointer
               : PayloadType::kUnsigned;
  }
  if (Is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) return PayloadType::kInt;
  if (Is(type, BT_FIELD_CLASS_TYPE_REAL)) return PayloadType::kDouble;
  if (type == BT_FIELD_CLASS_TYPE_BOOL ||
      type == BT_FIELD_CLASS_TYPE_BIT_ARRAY) {
    return PayloadType::kUnsigned;
  }
  return PayloadType::kString;
}

// For a sequence X, LTTng stores its length in the member _X_length before it.
bool IsLengthOfSequence(const bt_field_class& structure,
                        std::string_view name) {
  if (!name.starts_with('_') || !name.ends_with("_length")) return false;
  const std::string sequence(name.substr(1, name.size() - 8));
  const auto index = MemberIndex(&structure, sequence);
  if (!index) return false;
  const auto* member =
      bt_field_class_structure_borrow_member_by_index_const(&structure, *index);
  return Is(
      bt_field_class_get_type(
          bt_field_class_structure_member_borrow_field_class_const(member)),
      BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY);
}

}  // namespace

std::optional<std::uint32_t> MemberIndex(const bt_field_class* structure,
                                         std::string_view name) {
  if (structure == nullptr) return std::nullopt;
  const std::uint64_t members =
      bt_field_class_structure_get_member_count(structure);
  for (std::uint64_t i = 0; i < members; ++i) {
    if (name == bt_field_class_structure_member_get_name(
                    bt_field_class_structure_borrow_member_by_index_const(
                        structure, i))) {
      return static_cast<std::uint32_t>(i);
    }
  }
  return std::nullopt;
}

std::string_view TextOf(const bt_field& string) {
  return {bt_field_string_get_value(&string),
          static_cast<std::size_t>(bt_field_string_get_length(&string))};
}

std::optional<std::int64_t> IntegerOf(const bt_field* field) {
  if (field == nullptr) return std::nullopt;
  const bt_field_class_type type = bt_field_get_class_type(field);
  if (Is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
    return bt_field_integer_signed_get_value(field);
  }
  if (Is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
    return static_cast<std::int64_t>(
        bt_field_integer_unsigned_get_value(field));
  }
  // LTTng's kernel tracer writes some states as a variant of enumerations.
  if (Is(type, BT_FIELD_CLASS_TYPE_VARIANT)) {
    return IntegerOf(
        bt_field_variant_borrow_selected_option_field_const(field));
  }
  return std::nullopt;
}

void AppendField(const bt_field& field, std::string& out) {
  AppendAny(field, out, 0);
}

PayloadPlan::PayloadPlan(const bt_field_class* structure) {
  if (structure == nullptr) return;
  std::vector<std::uint32_t> path;
  AddLeaves(*structure, "", path, 0);
  for (const Leaf& leaf : leaves_) {
    if (types_.size() == logformat::kMaxPayloadValues) {
      types_.back() = PayloadType::kString;
      break;
    }
    types_.push_back(leaf.type);
  }
}

void PayloadPlan::AddLeaves(const bt_field_class& structure,
                            const std::string& prefix,
                            std::vector<std::uint32_t>& path, int depth) {
  const std::uint64_t members =
      bt_field_class_structure_get_member_count(&structure);
  for (std::uint64_t i = 0; i < members; ++i) {
    const auto* member =
        bt_field_class_structure_borrow_member_by_index_const(&structure, i);
    const char* name = bt_field_class_structure_member_get_name(member);
    const bt_field_class* field =
        bt_field_class_structure_member_borrow_field_class_const(member);
    const bt_field_class_type type = bt_field_class_get_type(field);
    if (IsLengthOfSequence(structure, name)) continue;
    path.push_back(static_cast<std::uint32_t>(i));
    if (type == BT_FIELD_CLASS_TYPE_STRUCTURE && depth < kMaxFlattened) {
      AddLeaves(*field, prefix + name + ".", path, depth + 1);
    } else {
      leaves_.push_back({prefix + name, path, type, TypeOf(*field, type)});
    }
    path.pop_back();
  }
}

std::vector<std::string> PayloadPlan::Names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < types_.size(); ++i) {
    const bool rest = i + 1 == logformat::kMaxPayloadValues &&
                      leaves_.size() > logformat::kMaxPayloadValues;
    names.push_back(rest ? "others" : leaves_[i].name);
  }
  return names;
}

void PayloadPlan::Encode(const bt_field* structure, std::string& out) const {
  if (structure == nullptr) return;
  const auto field_of = [structure](const Leaf& leaf) {
    const bt_field* field = structure;
    for (const std::uint32_t index : leaf.path) {
      field =
          bt_field_structure_borrow_member_field_by_index_const(field, index);
    }
    return field;
  };
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (i + 1 == logformat::kMaxPayloadValues &&
        leaves_.size() > logformat::kMaxPayloadValues) {
      std::string text;
      for (std::size_t rest = i; rest < leaves_.size(); ++rest) {
        if (rest != i) text += ", ";
        text += leaves_[rest].name + " = ";
        AppendField(*field_of(leaves_[rest]), text);
      }
      StoreText(text, out);
      return;
    }
    const Leaf& leaf = leaves_[i];
    const bt_field& field = *field_of(leaf);
    switch (leaf.type) {
      case PayloadType::kInt:
        Store(static_cast<std::uint64_t>(
                  bt_field_integer_signed_get_value(&field)),
              out);
        break;
      case PayloadType::kUnsigned:
      case PayloadType::kPointer:
        if (leaf.kind == BT_FIELD_CLASS_TYPE_BOOL) {
          Store(bt_field_bool_get_value(&field) ? 1 : 0, out);
        } else if (leaf.kind == BT_FIELD_CLASS_TYPE_BIT_ARRAY) {
          Store(bt_field_bit_array_get_value_as_integer(&field), out);
        } else {
          Store(bt_field_integer_unsigned_get_value(&field), out);
        }
        break;
      case PayloadType::kDouble: {
        const double value = RealOf(field, leaf.kind);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        Store(bits, out);
        break;
      }
      case PayloadType::kString:
      case PayloadType::kNone:
        if (leaf.kind == BT_FIELD_CLASS_TYPE_STRING) {
          StoreText(TextOf(field), out);
        } else {
          std::string text;
          AppendField(field, text);
          StoreText(text, out);
        }
        break;
    }
  }
}

}  // namespace countrace::importer
