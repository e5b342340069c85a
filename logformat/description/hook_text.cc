// The text of a hook (trace_description.h).
#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "logformat/description/text_fields.h"
#include "logformat/description/trace_description.h"

namespace countrace::logformat {
namespace {

constexpr std::string_view kTypeLetters = kPayloadTypeLetters;

struct KindWord {
  std::string_view word;
  HookKind kind;
  HookOrigin origin;
};
constexpr KindWord kKindWords[] = {
    {"segment", HookKind::kSegment, HookOrigin::kProgram},
    {"point", HookKind::kPoint, HookOrigin::kProgram},
    {"probe-segment", HookKind::kSegment, HookOrigin::kProbe},
    {"probe-point", HookKind::kPoint, HookOrigin::kProbe},
    {"kernel-segment", HookKind::kSegment, HookOrigin::kKernel},
    {"kernel-point", HookKind::kPoint, HookOrigin::kKernel},
    {"interrupt", HookKind::kSegment, HookOrigin::kInterrupt},
};

std::string TextOf(const ProbeCost& cost) {
  const auto& [inside, outside] = cost;
  return absl::StrFormat("%d %d %d %d %d %d", inside.ns, inside.lo, inside.hi,
                         outside.ns, outside.lo, outside.hi);
}

// Six numbers with a blank between them.
std::optional<ProbeCost> ParseProbeCost(std::string_view text) {
  ProbeCost cost;
  const char* at = text.data();
  const char* const end = at + text.size();
  std::size_t number = 0;
  for (ProbeCost::Range* range : {&cost.inside, &cost.outside}) {
    for (std::uint32_t* value : {&range->ns, &range->lo, &range->hi}) {
      if (number++ != 0 && (at == end || *at++ != ' ')) return std::nullopt;
      const auto parsed = std::from_chars(at, end, *value);
      if (parsed.ec != std::errc()) return std::nullopt;
      at = parsed.ptr;
    }
    if (range->lo > range->ns || range->ns > range->hi) return std::nullopt;
  }
  if (at != end) return std::nullopt;
  return cost;
}

// Six arguments of a system call, and the files of those that are descriptors.
constexpr std::size_t kMaxCallValues = 12;

bool IsKernelSegment(const HookInfo& hook) {
  return hook.kind == HookKind::kSegment &&
         (hook.origin == HookOrigin::kKernel ||
          hook.origin == HookOrigin::kProbe);
}

std::string LettersOf(const std::vector<PayloadType>& types) {
  std::string letters;
  for (const PayloadType type : types) {
    letters += kTypeLetters[static_cast<std::size_t>(type)];
  }
  return letters;
}

bool ParseLetters(std::string_view letters, std::size_t most,
                  std::vector<PayloadType>& types) {
  if (letters.size() > most) return false;
  for (const char letter : letters) {
    const std::size_t type = kTypeLetters.find(letter);
    if (type == std::string_view::npos || type == 0) return false;
    types.push_back(static_cast<PayloadType>(type));
  }
  return true;
}

// Inverse of PayloadTypesText(). Requires: the hook's kind and origin.
bool ParseTypes(std::string_view text, HookInfo& hook) {
  if (text == "-") return true;
  if (text.empty() || hook.origin == HookOrigin::kInterrupt) return false;
  if (!IsKernelSegment(hook)) {
    return ParseLetters(text, kMaxPayloadValues, hook.payload);
  }
  const std::size_t most =
      hook.origin == HookOrigin::kKernel ? kMaxCallValues : kMaxPayloadValues;
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && text.size() > 1 &&
         ParseLetters(text.substr(0, slash), most, hook.payload) &&
         ParseLetters(text.substr(slash + 1), most, hook.exit_payload);
}

// Names of the values of an enter or point, then of those of an exit.
bool TakeNames(std::string_view text, HookInfo& hook) {
  std::size_t comma = std::string_view::npos;
  for (std::size_t i = 0; i < hook.payload.size(); ++i) {
    comma = text.find(',', comma + 1);
    if (comma == std::string_view::npos) break;
  }
  if (!hook.payload.empty()) {
    hook.payload_names = ParsePayloadNames(text.substr(0, comma));
    if (hook.payload_names.size() != hook.payload.size()) return false;
    if (comma == std::string_view::npos) return hook.exit_payload.empty();
    text.remove_prefix(comma + 1);
  }
  hook.exit_payload_names = ParsePayloadNames(text);
  return !hook.exit_payload.empty() &&
         hook.exit_payload_names.size() == hook.exit_payload.size();
}

}  // namespace

std::string PayloadNamesText(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

std::vector<std::string> ParsePayloadNames(std::string_view text) {
  std::vector<std::string> names;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    if (name.empty() || name.size() > kMaxPayloadName ||
        !std::all_of(
            name.begin(), name.end(),
            [](char c) { return absl::ascii_isalnum(c) || c == '_'; }) ||
        std::find(names.begin(), names.end(), name) != names.end()) {
      return {};
    }
    names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

void SetPayloadNames(std::vector<std::string> names, HookInfo& hook) {
  hook.payload_names.clear();
  if (names.size() != hook.payload.size()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string& name = names[i];
    name.resize(std::min(name.size(), kMaxPayloadName - 2));
    for (char& c : name) {
      if (!absl::ascii_isalnum(c)) c = '_';
    }
    if (name.empty()) name = absl::StrFormat("arg%d", i);
    const auto taken = [&](const std::string& wanted) {
      return std::find(names.begin(), names.begin() + static_cast<long>(i),
                       wanted) != names.begin() + static_cast<long>(i);
    };
    // At most six values: one digit is enough.
    for (char digit = '2'; taken(name); ++digit) {
      if (digit == '2') name += "_2";
      name.back() = digit;
    }
  }
  hook.payload_names = std::move(names);
}

bool SetLevel(std::string_view scope, HookInfo& hook) {
  if (hook.kind != HookKind::kPoint || hook.origin != HookOrigin::kProgram ||
      hook.payload.size() != 1 || hook.payload[0] != PayloadType::kUnsigned) {
    return false;
  }
  for (const LevelScope known :
       {LevelScope::kThread, LevelScope::kProcess, LevelScope::kMachine}) {
    if (scope != LevelScopeName(known)) continue;
    hook.level = known;
    hook.payload_names = {"on"};
    return true;
  }
  return false;
}

bool TakeLevelText(std::string_view text, std::vector<HookInfo>& hooks) {
  const std::size_t tab = text.find('\t');
  return tab != std::string_view::npos && !hooks.empty() &&
         text.substr(0, tab) == std::to_string(hooks.back().id) &&
         SetLevel(text.substr(tab + 1), hooks.back());
}

std::string_view HookKindWord(const HookInfo& hook) {
  for (const KindWord& known : kKindWords) {
    if (known.kind == hook.kind && known.origin == hook.origin) {
      return known.word;
    }
  }
  return "point";
}

std::string PayloadTypesText(const HookInfo& hook) {
  std::string types = LettersOf(hook.payload);
  if (types.empty() && hook.exit_payload.empty()) return "-";
  if (IsKernelSegment(hook)) types += '/' + LettersOf(hook.exit_payload);
  return types;
}

std::string HookText(const HookInfo& hook) {
  std::string text =
      absl::StrFormat("%s\t%s\t%s\t%s", HookKindWord(hook),
                      PayloadTypesText(hook), hook.FullName(), hook.location);
  // Those of a program's hook have a line of their own, which older readers
  // leave out.
  std::vector<std::string> names = hook.payload_names;
  names.insert(names.end(), hook.exit_payload_names.begin(),
               hook.exit_payload_names.end());
  if (hook.origin != HookOrigin::kProgram && !names.empty()) {
    text += '\t' + PayloadNamesText(names);
  }
  if (hook.probe_cost && hook.origin != HookOrigin::kKernel) {
    text += '\t' + TextOf(*hook.probe_cost);
  }
  return text;
}

std::string CostText(const HookInfo& hook) {
  const bool given = hook.probe_cost && hook.origin == HookOrigin::kKernel;
  return given ? TextOf(*hook.probe_cost) : "";
}

bool TakeCostText(std::string_view text, HookInfo& hook) {
  const std::optional<ProbeCost> cost = ParseProbeCost(text);
  if (!cost || hook.origin != HookOrigin::kKernel) return false;
  hook.probe_cost = cost;
  return true;
}

std::optional<HookInfo> ParseHookText(std::uint32_t id, std::string_view text) {
  if (id < kHookIdMin || id > kHookIdMax) return std::nullopt;
  const auto tabs = std::count(text.begin(), text.end(), '\t');
  if (tabs < 3 || tabs > 5) return std::nullopt;
  // Texts of countrace hold no NUL, and metadata cannot hold one.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  HookInfo hook;
  hook.id = id;
  const std::string_view word = NextField(text);
  const auto* const known =
      std::find_if(std::begin(kKindWords), std::end(kKindWords),
                   [&](const KindWord& entry) { return entry.word == word; });
  if (known == std::end(kKindWords)) return std::nullopt;
  hook.kind = known->kind;
  hook.origin = known->origin;
  // The id determines which streams hold the records.
  const bool kernel_id = id >= kHookIdKernelMin;
  if (kernel_id != (hook.origin != HookOrigin::kProgram)) return std::nullopt;
  if (!ParseTypes(NextField(text), hook)) return std::nullopt;
  const std::string_view name = NextField(text);
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  hook.provider = name.substr(0, colon);
  hook.name = name.substr(colon + 1);
  hook.location = NextField(text);
  // The values of kernel hooks have names.
  std::ptrdiff_t fields = 3;
  if (hook.origin != HookOrigin::kProgram &&
      hook.payload.size() + hook.exit_payload.size() != 0) {
    ++fields;
    if (tabs < fields || !TakeNames(NextField(text), hook)) return std::nullopt;
  }
  if (tabs == fields) return hook;
  if (tabs != fields + 1) return std::nullopt;
  hook.probe_cost = ParseProbeCost(text);
  if (!hook.probe_cost || hook.origin != HookOrigin::kProbe) {
    return std::nullopt;
  }
  return hook;
}

}  // namespace countrace::logformat
