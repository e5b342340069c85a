#include "runtime/recorder/kernel/hooks/hook_values.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/trim.h"
#include "logformat/description/trace_description.h"
#include "runtime/recorder/kernel/functions/kernel_types.h"
#include "runtime/recorder/kernel/hooks/argument_sources.h"
#include "runtime/recorder/system/tracepoint_format.h"
#include "runtime/recorder/system/tracepoint_names.h"

namespace countrace::runtime {
namespace {

using logformat::PayloadType;

struct TypeWord {
  std::string_view word;
  unsigned char bytes;
  PayloadType type;
};
constexpr TypeWord kTypes[] = {
    {"s8", 1, PayloadType::kInt},       {"s16", 2, PayloadType::kInt},
    {"s32", 4, PayloadType::kInt},      {"s64", 8, PayloadType::kInt},
    {"u8", 1, PayloadType::kUnsigned},  {"u16", 2, PayloadType::kUnsigned},
    {"u32", 4, PayloadType::kUnsigned}, {"u64", 8, PayloadType::kUnsigned},
    {"ptr", 8, PayloadType::kPointer},  {"str", 8, PayloadType::kString}};

absl::Status Bad(const std::string& why) {
  return absl::InvalidArgumentError(why);
}

// `value` as the type that was asked for.
absl::Status SetType(const std::string& wanted, HookValue& value) {
  const auto* const known =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](const TypeWord& type) { return type.word == wanted; });
  if (known == std::end(kTypes)) {
    return Bad(absl::StrFormat(
        "\"%s\" is no type: there are s8, s16, s32, s64, u8, u16, u32, u64, "
        "ptr and str",
        wanted));
  }
  const bool text = known->type == PayloadType::kString;
  if (text && value.text != COUNTRACE_TEXT_NONE) return absl::OkStatus();
  if (value.text != COUNTRACE_TEXT_NONE && value.text != COUNTRACE_TEXT_USER &&
      value.text != COUNTRACE_TEXT_KERNEL) {
    return Bad(absl::StrFormat("%s is text", value.name));
  }
  if (known->bytes > value.source.bytes) {
    return Bad(absl::StrFormat("%s has %d bytes (%s): too few for %s",
                               value.name, value.source.bytes, value.declared,
                               wanted));
  }
  value.type = known->type;
  value.number_names = nullptr;
  value.text = text ? value.as_text : COUNTRACE_TEXT_NONE;
  value.source.bytes = known->bytes;
  value.source.is_signed = known->type == PayloadType::kInt ? 1 : 0;
  return absl::OkStatus();
}

void Store(const HookValue& value, countrace_stored_values& stored) {
  const unsigned i = stored.count++;
  stored.values[i] = value.source;
  stored.text[i] = static_cast<unsigned char>(value.text);
  stored.at[i] = stored.bytes;
  const bool text = value.text != COUNTRACE_TEXT_NONE;
  if (text) stored.texts |= static_cast<unsigned char>(1u << i);
  stored.bytes = static_cast<unsigned short>(stored.bytes +
                                             (text ? COUNTRACE_TEXT_ROOM : 8));
}

bool IsCharacter(std::string_view type) {
  return type == "char" || type == "const char";
}

// The rest of a tracepoint's field: how its type in the format file is stored.
void Classify(const std::string& system, const TracepointField& field,
              HookValue& value) {
  std::string_view type = field.type;
  const bool relative = type.starts_with("__rel_loc ");
  const bool dynamic = relative || type.starts_with("__data_loc ");
  if (dynamic) type.remove_prefix(type.find(' ') + 1);
  const bool array = type.ends_with(']');
  const std::string_view element =
      base::Trim(type.substr(0, array ? type.find('[') : type.size()));
  countrace_value_source& source = value.source;
  source.place = COUNTRACE_VALUE_HANDED;
  source.offset = static_cast<unsigned short>(field.offset);
  source.index_offset = COUNTRACE_NO_INDEX;
  source.is_signed = field.is_signed ? 1 : 0;
  source.bytes =
      static_cast<unsigned char>(std::min<std::uint32_t>(field.size, 255));
  if (field.offset > 0xffff) value.unknown = "it lies too far behind";
  if (dynamic) {
    // Relative to the end of the field itself.
    if (relative) source.displacement = field.offset + field.size;
    source.is_signed = 0;
    value.type = PayloadType::kString;
    value.text = IsCharacter(element) ? COUNTRACE_TEXT_DATA_LOC
                                      : COUNTRACE_TEXT_DATA_LOC_HEX;
    return;
  }
  const bool number =
      field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
  if (array || !number) {
    value.type = PayloadType::kString;
    value.text = array && IsCharacter(element) ? COUNTRACE_TEXT_HANDED
                                               : COUNTRACE_TEXT_HANDED_HEX;
    return;
  }
  value.type = field.is_signed ? PayloadType::kInt : PayloadType::kUnsigned;
  if (!type.ends_with('*') || field.size != 8) return;
  value.type = PayloadType::kPointer;
  const bool of_program = system == "syscalls";
  value.as_text = of_program ? COUNTRACE_TEXT_USER : COUNTRACE_TEXT_KERNEL;
  const std::string_view target = base::Trim(type.substr(0, type.size() - 1));
  if (!of_program || !IsCharacter(target)) return;
  value.type = PayloadType::kString;
  value.text = COUNTRACE_TEXT_USER;
}

}  // namespace

absl::StatusOr<WantedValues> TakeValueList(std::string& text) {
  WantedValues wanted;
  const std::size_t open = text.rfind('(');
  if (!text.ends_with(')') || open == std::string::npos) return wanted;
  const std::string list = text.substr(open + 1, text.size() - open - 2);
  text.resize(open);
  wanted.given = true;
  wanted.all = list.empty() || list == "*";
  if (wanted.all) return wanted;
  std::vector<std::string> names;
  const std::vector<std::string> parts = absl::StrSplit(list, ',');
  for (const std::string& part : parts) {
    WantedValue value;
    std::string item(base::Trim(part));
    if (const auto at = item.find('='); at != std::string::npos) {
      // "%rdi", as assemblers write it.
      value.place = item.substr(item[at + 1] == '%' ? at + 2 : at + 1);
      item.resize(at);
    }
    if (const auto at = item.find(':'); at != std::string::npos) {
      value.type = item.substr(at + 1);
      item.resize(at);
    }
    value.name = item;
    names.push_back(item);
    wanted.values.push_back(std::move(value));
  }
  if (names.size() > COUNTRACE_STORED_VALUES) {
    return Bad(absl::StrFormat("a record has at most %d values",
                               COUNTRACE_STORED_VALUES));
  }
  if (logformat::ParsePayloadNames(logformat::PayloadNamesText(names)).size() !=
      names.size()) {
    return Bad(absl::StrFormat(
        "\"(%s)\" is no list of values: write (name, name:type, "
        "name:type=place) with different names, or () for all",
        list));
  }
  return wanted;
}

std::vector<HookValue> TracepointValues(const std::string& system,
                                        const std::string& format) {
  std::vector<HookValue> values;
  const auto fields = ParseTracepointFormat(format);
  if (!fields.ok()) return values;
  const FieldNames names = TracepointNames(format, EnumeratorOf);
  for (const TracepointField& field : *fields) {
    if (field.name.starts_with("common_")) continue;
    HookValue& value = values.emplace_back();
    value.name = field.name;
    value.declared = field.type;
    Classify(system, field, value);
    const auto named = names.find(field.name);
    if (named != names.end() && (value.type == PayloadType::kInt ||
                                 value.type == PayloadType::kUnsigned)) {
      value.number_names = named->second;
    }
  }
  return values;
}

std::vector<HookValue> UsdtValues(const std::string& arguments) {
  std::vector<HookValue> values;
  const std::vector<std::string> described = SplitUsdtArguments(arguments);
  const countrace_argument_sources sources = UsdtSources(arguments);
  for (std::size_t i = 0; i < described.size(); ++i) {
    HookValue& value = values.emplace_back();
    value.name = absl::StrFormat("arg%d", i);
    value.declared = described[i];
    if (i < std::size(sources.arguments)) value.source = sources.arguments[i];
    value.type =
        value.source.is_signed ? PayloadType::kInt : PayloadType::kUnsigned;
    if (value.source.place != COUNTRACE_VALUE_UNKNOWN) continue;
    value.unknown =
        i < std::size(sources.arguments)
            ? "only integer registers, constants and memory behind registers "
              "can be followed"
            : "only the first six can be stored";
  }
  return values;
}

const HookValue* FindValue(const std::vector<HookValue>& has,
                           const WantedValue& wanted) {
  const std::string& name = wanted.place.empty() ? wanted.name : wanted.place;
  const auto found =
      std::find_if(has.begin(), has.end(),
                   [&](const HookValue& value) { return value.name == name; });
  return found == has.end() ? nullptr : &*found;
}

std::string ValuesText(const std::vector<HookValue>& has) {
  if (has.empty()) return "it has none";
  std::vector<std::string> parts;
  for (const HookValue& value : has) {
    parts.push_back(absl::StrFormat("%s (%s)", value.name, value.declared));
  }
  return "there are " + absl::StrJoin(parts, ", ");
}

absl::Status ChooseValues(const WantedValues& wanted,
                          const std::vector<HookValue>& has,
                          countrace_stored_values& stored, HookValues& values) {
  stored = {};
  values = {};
  const auto add = [&](const HookValue& value, const std::string& name) {
    Store(value, stored);
    values.types.push_back(value.type);
    values.names.push_back(name);
    values.number_names.push_back(value.number_names);
  };
  if (wanted.all) {
    for (const HookValue& value : has) {
      if (!value.unknown.empty()) continue;
      if (stored.count == COUNTRACE_STORED_VALUES) break;
      add(value, value.name);
    }
    return absl::OkStatus();
  }
  for (const WantedValue& one : wanted.values) {
    const HookValue* const found = FindValue(has, one);
    if (found == nullptr) {
      return Bad(absl::StrFormat("no argument \"%s\": %s",
                                 one.place.empty() ? one.name : one.place,
                                 ValuesText(has)));
    }
    if (!found->unknown.empty()) {
      return Bad(absl::StrFormat("%s (%s) cannot be stored: %s", found->name,
                                 found->declared, found->unknown));
    }
    HookValue value = *found;
    if (!one.type.empty()) {
      const absl::Status set = SetType(one.type, value);
      if (!set.ok()) return set;
    }
    add(value, one.name);
  }
  return absl::OkStatus();
}

void SetWindow(countrace_stored_values& stored) {
  unsigned begin = 0xffff, end = 0;
  for (unsigned i = 0; i < stored.count; ++i) {
    const countrace_value_source& value = stored.values[i];
    if (stored.text[i] != COUNTRACE_TEXT_NONE ||
        value.place != COUNTRACE_VALUE_HANDED || value.displacement != 0) {
      return;
    }
    begin = std::min<unsigned>(begin, value.offset);
    end = std::max<unsigned>(end, value.offset + value.bytes);
  }
  if (begin > 0xff || end <= begin || end - begin > stored.bytes) return;
  stored.window_at = static_cast<unsigned char>(begin);
  stored.window_bytes = static_cast<unsigned char>(end - begin);
}

}  // namespace countrace::runtime
