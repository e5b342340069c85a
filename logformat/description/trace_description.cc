#include "logformat/description/trace_description.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

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

// Removes the text before the next tab from `rest`, and returns it.
std::string_view NextField(std::string_view& rest) {
  const std::size_t tab = rest.find('\t');
  const std::string_view field = rest.substr(0, tab);
  rest =
      tab == std::string_view::npos ? std::string_view() : rest.substr(tab + 1);
  return field;
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

ExpectedPackets::ExpectedPackets(const std::vector<FinishedStream>& streams) {
  for (const FinishedStream& stream : streams) {
    packets_.emplace(stream.file, stream.packets);
  }
}

std::uint64_t ExpectedPackets::Of(std::string_view file) const {
  const auto found = packets_.find(file);
  return found == packets_.end() ? 0 : found->second;
}

std::string_view HookKindWord(const HookInfo& hook) {
  for (const KindWord& known : kKindWords) {
    if (known.kind == hook.kind && known.origin == hook.origin) {
      return known.word;
    }
  }
  return "point";
}

std::string HookText(const HookInfo& hook) {
  std::string types;
  for (const PayloadType type : hook.payload) {
    types += kTypeLetters[static_cast<std::size_t>(type)];
  }
  if (types.empty()) types = "-";
  std::string text = absl::StrFormat("%s\t%s\t%s\t%s", HookKindWord(hook),
                                     types, hook.FullName(), hook.location);
  // Those of a program's hook have a line of their own, which older readers
  // leave out.
  if (hook.origin != HookOrigin::kProgram && !hook.payload_names.empty()) {
    text += '\t' + PayloadNamesText(hook.payload_names);
  }
  if (hook.probe_cost) {
    const auto& [inside, outside] = *hook.probe_cost;
    absl::StrAppendFormat(&text, "\t%d %d %d %d %d %d", inside.ns, inside.lo,
                          inside.hi, outside.ns, outside.lo, outside.hi);
  }
  return text;
}

std::optional<HookInfo> ParseHookText(std::uint32_t id, std::string_view text) {
  if (id < kHookIdMin || id > kHookIdMax) return std::nullopt;
  const auto tabs = std::count(text.begin(), text.end(), '\t');
  if (tabs != 3 && tabs != 4) return std::nullopt;
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
  const std::string_view types = NextField(text);
  if (types.empty() || types.size() > kMaxPayloadValues) return std::nullopt;
  if (types != "-") {
    for (const char letter : types) {
      const std::size_t type = kTypeLetters.find(letter);
      if (type == std::string_view::npos || type == 0) return std::nullopt;
      hook.payload.push_back(static_cast<PayloadType>(type));
    }
  }
  const std::string_view name = NextField(text);
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  hook.provider = name.substr(0, colon);
  hook.name = name.substr(colon + 1);
  hook.location = NextField(text);
  const bool kernel_point =
      hook.origin == HookOrigin::kKernel && hook.kind == HookKind::kPoint;
  // A kernel point's values have names, those of other kernel hooks none.
  if (hook.origin != HookOrigin::kProgram && !hook.payload.empty()) {
    if (!kernel_point || tabs != 4) return std::nullopt;
    hook.payload_names = ParsePayloadNames(text);
    if (hook.payload_names.size() != hook.payload.size()) return std::nullopt;
    return hook;
  }
  if (tabs == 3) return hook;
  hook.probe_cost = ParseProbeCost(text);
  if (!hook.probe_cost || hook.origin != HookOrigin::kProbe) {
    return std::nullopt;
  }
  return hook;
}

std::string ProcessText(const ProcessName& process) {
  return absl::StrFormat("%d\t%s", process.pid, process.comm);
}

std::optional<ProcessName> ParseProcessText(std::string_view text) {
  ProcessName process;
  const std::string_view pid = NextField(text);
  const auto parsed =
      std::from_chars(pid.data(), pid.data() + pid.size(), process.pid);
  if (pid.empty() || parsed.ec != std::errc() ||
      parsed.ptr != pid.data() + pid.size() || process.pid <= 0 ||
      pid.front() == '0' ||
      text.find_first_of(std::string_view("\t\0", 2)) !=
          std::string_view::npos) {
    return std::nullopt;
  }
  process.comm = text;
  return process;
}

namespace {

std::string OwnerText(std::string_view kind, std::uint64_t id,
                      std::string_view name) {
  std::string text = absl::StrFormat("%s\t%d\t", kind, id);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return text;
}

template <typename Id>
bool AddName(std::string_view digits, std::string_view name,
             std::map<Id, std::string>& names) {
  Id id = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, id);
  if (parsed.ec != std::errc() || parsed.ptr != end) return false;
  return names.emplace(id, name).second;
}

}  // namespace

std::string UserText(std::uint32_t uid, std::string_view name) {
  return OwnerText("user", uid, name);
}

std::string CgroupText(std::uint64_t id, std::string_view path) {
  return OwnerText("cgroup", id, path);
}

bool ParseOwnerText(std::string_view text, TraceInfo& info) {
  const std::string_view kind = NextField(text);
  const std::string_view id = NextField(text);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return false;
  }
  if (kind == "user") return AddName(id, text, info.users);
  return kind == "cgroup" && AddName(id, text, info.cgroups);
}

std::string TriggerText(const TriggerFiring& firing) {
  std::string text = absl::StrFormat("%d\t%s\t%s", firing.time_ns,
                                     firing.trigger, firing.what);
  int tabs = 0;
  for (char& c : text) {
    const bool separates = c == '\t' && ++tabs <= 2;
    if (static_cast<unsigned char>(c) < 0x20 && !separates) c = '?';
  }
  return text;
}

std::optional<TriggerFiring> ParseTriggerText(std::string_view text) {
  TriggerFiring firing;
  const std::string_view time = NextField(text);
  const char* const end = time.data() + time.size();
  const auto parsed = std::from_chars(time.data(), end, firing.time_ns);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  firing.trigger = NextField(text);
  firing.what = text;
  if (firing.trigger.empty() || firing.what.empty()) return std::nullopt;
  // Other spellings could not be written back byte for byte.
  if (TriggerText(firing).size() !=
      time.size() + 1 + firing.trigger.size() + 1 + firing.what.size()) {
    return std::nullopt;
  }
  for (const std::string* part : {&firing.trigger, &firing.what}) {
    for (const char c : *part) {
      if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
    }
  }
  return firing;
}

std::string NotRecordedText(const NotRecorded& what) {
  std::string text =
      absl::StrFormat("%s\t%d\t%s", what.cause, what.count, what.text);
  int tabs = 0;
  for (char& c : text) {
    const bool separates = c == '\t' && ++tabs <= 2;
    if (static_cast<unsigned char>(c) < 0x20 && !separates) c = '?';
  }
  return text;
}

std::optional<NotRecorded> ParseNotRecordedText(std::string_view text) {
  const std::string_view whole = text;
  NotRecorded what;
  what.cause = NextField(text);
  const std::string_view count = NextField(text);
  const char* const end = count.data() + count.size();
  const auto parsed = std::from_chars(count.data(), end, what.count);
  what.text = text;
  // Other spellings could not be written back byte for byte.
  if (std::find(std::begin(kNotRecordedCauses), std::end(kNotRecordedCauses),
                what.cause) == std::end(kNotRecordedCauses) ||
      parsed.ec != std::errc() || parsed.ptr != end || what.count == 0 ||
      NotRecordedText(what) != whole) {
    return std::nullopt;
  }
  return what;
}

std::vector<NotRecorded> FitNotRecorded(std::vector<NotRecorded> all) {
  if (all.size() <= kMaxNotRecorded) return all;
  std::vector<NotRecorded> fit;
  for (NotRecorded& what : all) {
    if (fit.size() < kMaxNotRecorded - std::size(kNotRecordedCauses)) {
      fit.push_back(std::move(what));
      continue;
    }
    const auto same = std::find_if(
        fit.begin() + kMaxNotRecorded - std::size(kNotRecordedCauses),
        fit.end(),
        [&what](const NotRecorded& one) { return one.cause == what.cause; });
    if (same == fit.end()) {
      fit.push_back({what.cause, what.count, "more of this cause"});
    } else {
      same->count += what.count;
    }
  }
  return fit;
}

std::string FormatUuid(const Uuid& uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 15];
  }
  return text;
}

std::optional<Uuid> ParseUuid(std::string_view text) {
  Uuid uuid{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return std::nullopt;
      continue;
    }
    int value = 0;
    if (c >= '0' && c <= '9') {
      value = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      value = c - 'a' + 10;
    } else {
      return std::nullopt;
    }
    if (digits == 32) return std::nullopt;
    uuid[digits / 2] = static_cast<std::uint8_t>(uuid[digits / 2] * 16 + value);
    ++digits;
  }
  if (digits != 32 || text.size() != 36) return std::nullopt;
  return uuid;
}

}  // namespace countrace::logformat
