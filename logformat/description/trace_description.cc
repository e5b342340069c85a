#include "logformat/description/trace_description.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/description/text_fields.h"

namespace countrace::logformat {

ExpectedPackets::ExpectedPackets(const std::vector<FinishedStream>& streams) {
  for (const FinishedStream& stream : streams) {
    packets_.emplace(stream.file, stream.packets);
  }
}

std::uint64_t ExpectedPackets::Of(std::string_view file) const {
  const auto found = packets_.find(file);
  return found == packets_.end() ? 0 : found->second;
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

std::vector<std::pair<const char*, std::string>> IdsOf(const TraceInfo& info) {
  std::vector<std::pair<const char*, std::string>> ids;
  if (info.boot_id != Uuid{})
    ids.emplace_back("boot_id", FormatUuid(info.boot_id));
  if (!info.machine_hash.empty())
    ids.emplace_back("machine_hash", info.machine_hash);
  if (!info.container.empty()) ids.emplace_back("container", info.container);
  return ids;
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
