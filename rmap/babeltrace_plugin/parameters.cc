#include "rmap/babeltrace_plugin/parameters.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace countrace::rmap::babeltrace_plugin {

namespace {

const char* TypeName(const bt_value* value) {
  switch (bt_value_get_type(value)) {
    case BT_VALUE_TYPE_NULL:
      return "null";
    case BT_VALUE_TYPE_BOOL:
      return "a boolean";
    case BT_VALUE_TYPE_UNSIGNED_INTEGER:
      return "an unsigned integer";
    case BT_VALUE_TYPE_SIGNED_INTEGER:
      return "an integer";
    case BT_VALUE_TYPE_REAL:
      return "a real number";
    case BT_VALUE_TYPE_STRING:
      return "a string";
    case BT_VALUE_TYPE_ARRAY:
      return "an array";
    case BT_VALUE_TYPE_MAP:
      return "a map";
    default:
      return "of another type";
  }
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

}  // namespace

Parameters::Parameters(const bt_value* params) : params_(params) {
  if (bt_value_get_type(params) == BT_VALUE_TYPE_MAP) return;
  // The parameters of a query can have any type.
  params_ = nullptr;
  status_ = absl::InvalidArgumentError(
      absl::StrFormat("The parameters are %s, not a map", TypeName(params)));
}

const bt_value* Parameters::Find(const char* name, bt_value_type type,
                                 const char* like) {
  known_.emplace_back(name);
  if (params_ == nullptr) return nullptr;
  const bt_value* value = bt_value_map_borrow_entry_value_const(params_, name);
  if (value == nullptr) return nullptr;
  // `rows=5` is signed on babeltrace2's command line, `rows=+5` is not.
  const bt_value_type actual = bt_value_get_type(value);
  if (actual == type || (type == BT_VALUE_TYPE_SIGNED_INTEGER &&
                         actual == BT_VALUE_TYPE_UNSIGNED_INTEGER)) {
    return value;
  }
  if (status_.ok()) {
    status_ = absl::InvalidArgumentError(
        absl::StrFormat("Parameter `%s` is %s; write %s=%s", name,
                        TypeName(value), name, like));
  }
  return nullptr;
}

void Parameters::Text(const char* name, std::string& into) {
  const bt_value* value = Find(name, BT_VALUE_TYPE_STRING, "\"TEXT\"");
  if (value != nullptr) into = bt_value_string_get(value);
}

void Parameters::Number(const char* name, std::uint64_t& into) {
  const bt_value* value = Find(name, BT_VALUE_TYPE_SIGNED_INTEGER, "20");
  if (value == nullptr) return;
  if (bt_value_get_type(value) == BT_VALUE_TYPE_UNSIGNED_INTEGER) {
    into = bt_value_integer_unsigned_get(value);
    return;
  }
  const std::int64_t number = bt_value_integer_signed_get(value);
  if (number >= 0) {
    into = static_cast<std::uint64_t>(number);
  } else if (status_.ok()) {
    status_ = absl::InvalidArgumentError(absl::StrFormat(
        "Parameter `%s` is %d; it must not be negative", name, number));
  }
}

void Parameters::Texts(const char* name, std::vector<std::string>& into) {
  const bt_value* array = Find(name, BT_VALUE_TYPE_ARRAY, "[\"TEXT\"]");
  if (array == nullptr) return;
  const std::uint64_t length = bt_value_array_get_length(array);
  for (std::uint64_t i = 0; i < length; ++i) {
    const bt_value* value =
        bt_value_array_borrow_element_by_index_const(array, i);
    if (bt_value_get_type(value) == BT_VALUE_TYPE_STRING) {
      into.emplace_back(bt_value_string_get(value));
    } else if (status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrFormat("Parameter `%s` holds %s; write %s=[\"TEXT\"]", name,
                          TypeName(value), name));
    }
  }
}

void Parameters::Refuse(const char* name, const std::string& value,
                        const std::vector<std::string>& allowed) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrFormat(
      "Parameter `%s` is \"%s\"; it can be: %s", name, value, Joined(allowed)));
}

absl::Status Parameters::Finish() const {
  if (params_ == nullptr) return status_;
  struct Search {
    const std::vector<std::string>& known;
    std::string unknown;
  } search = {known_, ""};
  bt_value_map_foreach_entry_const(
      params_,
      [](const char* name, const bt_value*, void* data) {
        Search& at = *static_cast<Search*>(data);
        if (std::find(at.known.begin(), at.known.end(), name) !=
            at.known.end()) {
          return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
        }
        at.unknown = name;
        return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_INTERRUPT;
      },
      &search);
  if (!search.unknown.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("There is no parameter `%s`; there are: %s",
                        search.unknown, Joined(known_)));
  }
  return status_;
}

}  // namespace countrace::rmap::babeltrace_plugin
