#include "logformat/description/number_names.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "logformat/description/text_fields.h"
#include "logformat/description/trace_description.h"

namespace countrace::logformat {
namespace {

// Removes a number and `end` behind it from `text`.
template <typename Number>
bool Take(std::string_view& text, Number& number, std::string_view end,
          int base = 16) {
  const char* const last = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), last, number, base);
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  if (parsed.ec != std::errc() || !text.starts_with(end)) return false;
  text.remove_prefix(end.size());
  return true;
}

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

// Owns what `set` refers to.
struct StoredNames {
  std::string text;
  std::vector<NumberName> names;
  NumberNames set;
};

}  // namespace

std::string NumberNamesText(const NumberNames& names) {
  std::string text = absl::StrFormat("%x %x", names.chosen, names.mask);
  for (const NumberName& name : names.names) {
    absl::StrAppendFormat(&text, "\t%x=%s", name.value, name.text);
  }
  return text;
}

std::shared_ptr<const NumberNames> ParseNumberNames(std::string_view text) {
  const auto stored = std::make_shared<StoredNames>();
  stored->text = text;
  std::string_view rest = stored->text;
  NumberNames& set = stored->set;
  if (!Take(rest, set.chosen, " ") || !Take(rest, set.mask, "\t")) {
    return nullptr;
  }
  while (!rest.empty()) {
    NumberName name{};
    name.text = NextField(rest);
    if (!Take(name.text, name.value, "=") || name.text.empty() ||
        name.text.size() > kMaxNumberName ||
        stored->names.size() == kMaxNumberNames ||
        !std::ranges::all_of(name.text, IsPrintable)) {
      return nullptr;
    }
    name.value = NamedNumber(name.value);
    stored->names.push_back(name);
  }
  if (stored->names.empty()) return nullptr;
  set.names = stored->names;
  return {stored, &set};
}

std::vector<std::string> NumberNamesTexts(const std::vector<HookInfo>& hooks) {
  std::vector<std::string> texts;
  for (const HookInfo& hook : hooks) {
    for (std::size_t i = 0; i < hook.number_names.size(); ++i) {
      if (hook.number_names[i] == nullptr) continue;
      texts.push_back(absl::StrFormat("%d\tnumbers\t%d\t%s", hook.id, i,
                                      NumberNamesText(*hook.number_names[i])));
    }
  }
  return texts;
}

bool ParseNumberNamesText(std::string_view text, std::vector<HookInfo>& hooks) {
  std::uint32_t id = 0;
  std::size_t index = 0;
  if (!Take(text, id, "\tnumbers\t", 10) || !Take(text, index, "\t", 10)) {
    return false;
  }
  const auto hook = std::ranges::find(hooks, id, &HookInfo::id);
  if (hook == hooks.end() || hook->origin == HookOrigin::kProgram) return false;
  std::vector<PayloadType> types = hook->payload;
  types.insert(types.end(), hook->exit_payload.begin(),
               hook->exit_payload.end());
  if (index >= types.size() || (types[index] != PayloadType::kInt &&
                                types[index] != PayloadType::kUnsigned)) {
    return false;
  }
  hook->number_names.resize(types.size());
  if (hook->number_names[index] != nullptr) return false;
  hook->number_names[index] = ParseNumberNames(text);
  return hook->number_names[index] != nullptr;
}

}  // namespace countrace::logformat
