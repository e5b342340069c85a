#include "logformat/vocabularies/oprofile_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/posix/regular_file.h"
#include "base/text/name_escape.h"
#include "base/text/source_place.h"
#include "logformat/vocabularies/vocabulary.h"

namespace countrace::logformat {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::uint64_t kMostCode = kMost >> 1;
constexpr std::string_view kBlanks = " \t\r";

// A vocabulary's lines have few dots.
std::string Quoted(std::string_view text) {
  const bool many_dots = std::count(text.begin(), text.end(), '.') > 32;
  std::string quoted = "\"";
  for (const char c : base::EscapeName(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '.' && many_dots ? "\\u002e" : std::string(1, c);
  }
  return quoted + '"';
}

// `key:value ... rest`; the rest is what stands behind " : ", or begins without
// a key.
struct Line {
  base::SourcePlace place;
  std::map<std::string_view, std::string_view> values;
  std::string_view rest;

  absl::Status Error(std::string_view message) const {
    return base::ErrorAt(place, message);
  }
  absl::Status Twice(std::string_view what, const Line& other) const {
    return Error(absl::StrFormat("%s is in line %d already",
                                 base::EscapeName(what), other.place.line));
  }
  std::string_view Text(std::string_view key) const {
    const auto found = values.find(key);
    return found == values.end() ? std::string_view() : found->second;
  }
  absl::StatusOr<std::uint64_t> Number(std::string_view key,
                                       std::uint64_t most) const {
    const auto number = ParseCode(Text(key));
    if (number && *number <= most) return *number;
    return Error(absl::StrFormat("%s:%s is no number of at most 0x%x", key,
                                 base::EscapeName(Text(key)), most));
  }
};

// Without empty lines and comments.
std::vector<Line> LinesOf(const std::string& file, std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view all = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), all.size() + 1));
    Line line{{file, number}, {}, all.substr(0, all.find('#'))};
    std::string_view& rest = line.rest;
    rest = rest.substr(0, rest.find_last_not_of(kBlanks) + 1);
    for (bool more = true; more;) {
      rest.remove_prefix(
          std::min(rest.find_first_not_of(kBlanks), rest.size()));
      const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
      const std::size_t colon = word.find(':');
      more = colon != 0 && colon != std::string_view::npos;
      if (more) line.values[word.substr(0, colon)] = word.substr(colon + 1);
      rest.remove_prefix(more ? word.size() : colon == 0 ? 1 : 0);
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    if (!line.values.empty() || !rest.empty()) lines.push_back(line);
  }
  return lines;
}

class OprofileReader {
 public:
  OprofileReader(const OprofileTexts& texts, const std::string& folder)
      : texts_(texts), folder_(folder) {}

  absl::StatusOr<std::string> Read() {
    absl::Status status = ReadMasks();
    if (status.ok()) status = ReadMappings();
    for (const Line& line : LinesOf(folder_ + "/events", texts_.events)) {
      if (status.ok()) status = AddEvent(line);
    }
    if (status.ok() && counters_.empty()) {
      status = base::ErrorAt({folder_ + "/events"},
                             "no event has the number of a counter");
    }
    if (!status.ok()) return status;
    std::string text = Machine();
    for (const auto& [number, group] : groups_) {
      absl::StrAppendFormat(
          &text, "\n[[group]]\nnumber = %d\nname = %s\nmmcr = [\"%s\"]\n",
          number, Quoted(group.name), absl::StrJoin(group.mmcr, "\", \""));
    }
    return text + events_;
  }

 private:
  using Mmcr = std::array<std::string, 3>;

  // OProfile names i386 and x86-64 by the instructions, not by the kernel. Its
  // names of processors are no names of /proc/cpuinfo: a file counts nowhere
  // until its user has put one there.
  std::string Machine() const {
    std::vector<std::string> parts =
        absl::StrSplit(folder_, '/', absl::SkipEmpty());
    parts.insert(parts.begin(), {"unknown", "imported"});
    const std::string& model = parts.back();
    std::string architecture = parts[parts.size() - 2];
    if (architecture == "x86-64" || architecture == "i386") {
      architecture = "x86_64";
    }
    return absl::StrFormat(
        "model = %s\ntitle = %s\narchitecture = %s\n"
        "# The name of the CPU in /proc/cpuinfo: put yours here to count.\n"
        "cpu = %s\ncounters = [%s]\n",
        Quoted(IsEventWord(model) ? model : "imported"),
        Quoted("OProfile's " + model),
        Quoted(IsEventWord(architecture) ? architecture : "unknown"),
        Quoted(model), absl::StrJoin(counters_, ", "));
  }

  absl::Status ReadMasks() {
    Mask* last = nullptr;
    for (const Line& line :
         LinesOf(folder_ + "/unit_masks", texts_.unit_masks)) {
      if (line.values.empty()) {
        const auto mask =
            ParseCode(line.rest.substr(0, line.rest.find_first_of(kBlanks)));
        if (last == nullptr || !mask || *mask > kMostCode) {
          return line.Error("this is no unit mask");
        }
        last->bits |= *mask;
        last->has_chosen |= *mask == last->chosen;
        last->all.push_back(absl::StrFormat("0x%x", *mask));
        continue;
      }
      const auto chosen = line.Number("default", kMostCode);
      if (!chosen.ok()) return chosen.status();
      const auto [one, is_new] =
          masks_.emplace(line.Text("name"), Mask{line, *chosen, {}});
      if (!is_new) return line.Twice(line.Text("name"), one->second.line);
      last = &one->second;
    }
    for (const auto& [name, mask] : masks_) {
      const bool is_sum = mask.is_sum() && (mask.chosen & ~mask.bits) == 0;
      if (mask.has_chosen || is_sum) continue;
      return mask.line.Error(
          absl::StrFormat("default 0x%x is none of its masks, which have the "
                          "bits 0x%x",
                          mask.chosen, mask.bits));
    }
    return absl::OkStatus();
  }

  absl::Status ReadMappings() {
    for (const Line& line :
         LinesOf(folder_ + "/event_mappings", texts_.event_mappings)) {
      const auto code = line.Number("event", kMostCode);
      if (!code.ok()) return code.status();
      Mapping mapping{line, {}};
      for (std::size_t i = 0; i < mapping.mmcr.size(); ++i) {
        constexpr const char* kNames[] = {"mmcr0", "mmcr1", "mmcra"};
        const auto value = line.Number(kNames[i], i == 1 ? kMost : kMost >> 32);
        if (!value.ok()) return value.status();
        mapping.mmcr[i] = absl::StrFormat("0x%08X", *value);
      }
      const auto [other, is_new] = mappings_.emplace(*code, mapping);
      if (!is_new) return line.Twice(line.Text("event"), other->second.line);
    }
    return absl::OkStatus();
  }

  absl::Status AddEvent(const Line& line) {
    if (!line.Text("include").empty()) {
      return line.Error("include: is not followed: put that file's lines here");
    }
    const auto code = line.Number("event", kMostCode);
    if (!code.ok()) return code.status();
    const auto minimum = line.Number("minimum", kMostCode);
    if (!minimum.ok()) return minimum.status();
    const GroupedName name = SplitGroup(line.Text("name"));
    if (!IsEventWord(name.name)) return line.Error("there is no name:NAME");
    for (const std::string& key :
         {absl::StrFormat("event 0x%x", *code),
          absl::AsciiStrToLower(std::string(name.name)) +
              (name.group ? absl::StrFormat("_grp%d", *name.group) : "")}) {
      const auto [other, is_new] = seen_.emplace(key, line);
      if (!is_new) return line.Twice(key, other->second);
    }
    const auto mask = masks_.find(line.Text("um"));
    if (mask == masks_.end()) {
      return line.Error(absl::StrFormat(
          "event 0x%x has the unit mask \"%s\", none of the %d in unit_masks",
          *code, base::EscapeName(line.Text("um")), masks_.size()));
    }
    absl::StrAppendFormat(&events_,
                          "\n[[event]]\nname = %s\ncode = 0x%x\nmask = 0x%x\n"
                          "minimum = %d\ndescription = %s\n",
                          Quoted(name.name), *code, mask->second.chosen,
                          *minimum, Quoted(line.rest));
    if (mask->second.is_sum()) {
      absl::StrAppendFormat(&events_, "mask_bits = 0x%x\n", mask->second.bits);
    } else if (mask->second.all.size() > 1) {
      events_ += "masks = [" + absl::StrJoin(mask->second.all, ", ") + "]\n";
    }
    absl::Status status = AddCounters(line, *code);
    return status.ok() ? AddToGroup(line, *code, name.group) : status;
  }

  absl::Status AddCounters(const Line& line, std::uint64_t code) {
    const std::string list(line.Text("counters"));
    // Those that any event has.
    if (list == "all" || list == "cpuid") return absl::OkStatus();
    const std::vector<std::string> words = absl::StrSplit(list, ',');
    std::set<std::uint64_t> counters;
    for (const std::string& word : words) {
      const auto counter = ParseCode(word);
      if (!counter || *counter > 63) {
        return line.Error(absl::StrFormat(
            "event 0x%x: counter \"%s\" is no number from 0 to 63", code,
            base::EscapeName(word)));
      }
      counters.insert(*counter);
    }
    counters_.insert(counters.begin(), counters.end());
    events_ += "counters = [" + absl::StrJoin(counters, ", ") + "]\n";
    return absl::OkStatus();
  }

  // All events of a group have the same registers.
  absl::Status AddToGroup(const Line& line, std::uint64_t code,
                          std::optional<std::uint32_t> number) {
    const auto mapping = mappings_.find(code);
    if (mapping == mappings_.end()) {
      if (!number) return absl::OkStatus();
      return line.Error(
          absl::StrFormat("event 0x%x of group %d has no MMCR: event_mappings "
                          "has %d other events",
                          code, *number, mappings_.size()));
    }
    // Registers of its own: a group behind those with numbers.
    const auto own = static_cast<std::uint32_t>(code % (1 << 20) + (1 << 20));
    const Mmcr& mmcr = mapping->second.mmcr;
    // "(Group 1 pm_slice0) Processor Cycles" -> "pm_slice0".
    std::string_view name = line.rest.substr(0, line.rest.find(')'));
    name = name.starts_with("(Group ") ? name.substr(name.rfind(' ') + 1) : "";
    const auto [one, is_new] =
        groups_.emplace(number.value_or(own), Group{std::string(name), mmcr});
    absl::StrAppendFormat(&events_, "group = %d\n", one->first);
    if (is_new || one->second.mmcr == mmcr) return absl::OkStatus();
    return mapping->second.line.Error(absl::StrFormat(
        "event 0x%x of group %d has MMCR %s, and earlier events of the group "
        "have %s",
        code, one->first, absl::StrJoin(mmcr, " "),
        absl::StrJoin(one->second.mmcr, " ")));
  }

  struct Mask {
    Line line;
    std::uint64_t chosen = 0;
    std::vector<std::string> all;
    std::uint64_t bits = 0;  // of all
    bool has_chosen = false;

    // Any of the bits, not one of the masks.
    bool is_sum() const { return line.Text("type") == "bitmask"; }
  };
  struct Mapping {
    Line line;
    Mmcr mmcr;
  };
  struct Group {
    std::string name;
    Mmcr mmcr;
  };

  const OprofileTexts& texts_;
  const std::string& folder_;
  std::string events_;                // tables of TOML
  std::set<std::uint64_t> counters_;  // of any event
  std::map<std::string_view, Mask> masks_;
  std::map<std::uint64_t, Mapping> mappings_;
  std::map<std::uint32_t, Group> groups_;
  std::map<std::string, Line> seen_;  // codes and names
};

}  // namespace

absl::StatusOr<std::string> OprofileAsVocabulary(const OprofileTexts& texts,
                                                 const std::string& folder) {
  return OprofileReader(texts, folder).Read();
}

absl::StatusOr<OprofileTexts> ReadOprofileFolder(const std::string& folder) {
  OprofileTexts texts;
  for (const auto& [file, text] :
       {std::pair{"/events", &texts.events},
        std::pair{"/unit_masks", &texts.unit_masks},
        std::pair{"/event_mappings", &texts.event_mappings}}) {
    auto read = base::ReadNamedFile(folder + file, kMaxVocabularyBytes);
    const bool may_be_absent = text == &texts.event_mappings;
    if (may_be_absent && absl::IsNotFound(read.status())) continue;
    if (!read.ok()) return read.status();
    *text = *std::move(read);
  }
  return texts;
}

}  // namespace countrace::logformat
