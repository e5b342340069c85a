#include "logformat/read/named_value.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/system_call_exit.h"

namespace countrace::logformat {
namespace {

// tid, pid and number, in front of a kernel hook's values.
constexpr std::size_t kKernelHead = 3;

using ValuesVisit =
    std::function<void(const EventClass&, std::span<const EventField> before,
                       std::span<const EventField> values)>;

// Calls visit(class, what precedes its values, its values) for each class of
// hooks' records. Those with a dump have the values of those without, behind
// it.
void ForEachHookClass(const TraceInfo& info, const ValuesVisit& visit) {
  std::unordered_map<std::uint32_t, std::size_t> counts;
  for (const EventClass& event : EventClasses(info)) {
    if (event.stream_class == StreamClass::kClock) continue;  // of no hook
    const bool kernel = event.stream_class == StreamClass::kCpu;
    if (kernel && !IsKernelHookEvent(event.id)) continue;
    const std::uint32_t key = static_cast<std::uint32_t>(event.stream_class)
                                  << 16 |
                              (event.id & ~std::uint32_t{kEventDumpBit});
    const std::size_t head = kernel ? kKernelHead : 0;
    if ((event.id & kEventDumpBit) == 0) {
      counts[key] = event.fields.size() - std::min(head, event.fields.size());
    }
    const std::span<const EventField> fields = event.fields;
    const std::size_t values = std::min(counts[key], fields.size());
    visit(event, fields.first(fields.size() - values), fields.last(values));
  }
}

void Pass(std::span<const EventField> fields, std::uint32_t mmcr,
          std::span<const std::byte>& bytes) {
  for (const EventField& field : fields) {
    if (field.type == FieldType::kEventSet) {
      Pass(FieldsOfSet(field, mmcr), mmcr, bytes);
    } else {
      TakeField(field, bytes);
    }
  }
}

bool IsInteger(FieldType type) {
  return type != FieldType::kString && type != FieldType::kDouble &&
         type != FieldType::kPointer;
}

struct TextMaker {
  using Text = std::optional<std::string>;
  Text operator()(std::monostate) const { return std::nullopt; }
  Text operator()(std::uint64_t value) const { return std::to_string(value); }
  Text operator()(std::int64_t value) const { return std::to_string(value); }
  Text operator()(double value) const {
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value);
    return std::string(digits, end.ptr);
  }
  Text operator()(PointerValue value) const {
    return absl::StrFormat("0x%X", value.address);
  }
  Text operator()(std::string_view text) const { return std::string(text); }
};

}  // namespace

NamedValue::NamedValue(const TraceInfo& info,
                       const std::vector<std::string>& names) {
  ForEachHookClass(
      info, [&](const EventClass& event, std::span<const EventField> before,
                std::span<const EventField> values) {
        for (const std::string& name : names) {
          const auto found = std::ranges::find(values, name, &EventField::name);
          if (found == values.end()) continue;
          Place place{event.context, *found, NamesOf(info, event, *found)};
          place.before.insert(place.before.end(), before.begin(), before.end());
          place.before.insert(place.before.end(), values.begin(), found);
          places_.emplace(Key(event.stream_class, event.id), std::move(place));
          return;
        }
      });
}

FieldValue NamedValue::Of(const EventRecord& record) const {
  const auto found = places_.find(Key(record.stream_class, record.event_id));
  if (found == places_.end()) return {};
  std::span<const std::byte> bytes =
      record.bytes.subspan(sizeof(std::uint64_t));
  Pass(found->second.before, record.mmcr, bytes);
  return TakeField(found->second.field, bytes);
}

std::string NamedValue::NameOf(const EventRecord& record) const {
  const auto found = places_.find(Key(record.stream_class, record.event_id));
  if (found == places_.end() || found->second.names == nullptr) return {};
  return logformat::NameOf(found->second.names, Of(record));
}

bool NamedValue::IsOf(std::uint32_t hook_id, bool exits) const {
  const auto id =
      static_cast<std::uint16_t>(hook_id * 2 + (exits ? kEventExitBit : 0));
  return places_.contains(Key(StreamClass::kCpu, id)) ||
         places_.contains(Key(StreamClass::kThread, id));
}

const NumberNames* NamesOf(const TraceInfo& info, const EventClass& event,
                           const EventField& field) {
  if (field.names != nullptr) return field.names.get();
  if (event.stream_class != StreamClass::kCpu || !IsKernelHookEvent(event.id)) {
    return nullptr;
  }
  const HookInfo* const hook = info.FindHook(EventHookId(event.id));
  const bool has_values = hook != nullptr && IsSystemCall(*hook) &&
                          hook->payload.size() + hook->exit_payload.size() != 0;
  return has_values ? FindCallNames(hook->name, field.name) : nullptr;
}

std::string NameOf(const NumberNames* names, const FieldValue& value) {
  if (names == nullptr) return {};
  if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    return NumberText(*names, *number);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return NumberText(*names, static_cast<std::uint64_t>(*number));
  }
  return {};
}

std::optional<std::string> TextOf(const FieldValue& value) {
  return std::visit(TextMaker(), value);
}

std::optional<std::int64_t> IntegerOf(const FieldValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    return static_cast<std::int64_t>(*number);
  }
  if (const auto* pointer = std::get_if<PointerValue>(&value)) {
    return static_cast<std::int64_t>(pointer->address);
  }
  return std::nullopt;
}

std::map<std::string, NamedValues> ValueNames(const TraceInfo& info,
                                              bool exits) {
  std::map<std::string, NamedValues> names;
  ForEachHookClass(
      info, [&](const EventClass& event, std::span<const EventField>,
                std::span<const EventField> values) {
        if (!exits && (event.id & kEventExitBit) != 0) return;
        for (const EventField& value : values) {
          NamedValues& of = names[value.name];
          const NumberNames* const numbers = NamesOf(info, event, value);
          of.integers &= IsInteger(value.type) && numbers == nullptr;
          if (numbers == nullptr) continue;
          // Those of system calls are static.
          std::shared_ptr<const NumberNames> kept = value.names;
          if (!kept) kept = {std::shared_ptr<const void>(), numbers};
          of.numbers.emplace(info.FindHook(EventHookId(event.id))->FullName(),
                             kept);
        }
      });
  return names;
}

}  // namespace countrace::logformat
