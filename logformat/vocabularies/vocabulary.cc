#include "logformat/vocabularies/vocabulary.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "base/text/source_place.h"
#include "base/toml/toml_limits.h"
#include "base/toml/untrusted_toml.h"

namespace countrace::logformat {
namespace {

constexpr std::int64_t kMaxCounter = 63, kMaxGroup = 1 << 30;

// Reads a value; returns what it must be instead, or "".
using Reader = std::function<std::string(const toml::node& value)>;
// In the order in which messages name them.
using Keys = std::vector<std::pair<std::string_view, Reader>>;

Reader Text(std::string& text) {
  return [&text](const toml::node& value) -> std::string {
    if (!value.is_string()) return "a text";
    text = value.as_string()->get();
    return "";
  };
}

Reader Word(std::string& word) {
  return [&word](const toml::node& value) -> std::string {
    if (Text(word)(value).empty() && IsEventWord(word)) return "";
    return "a text of printable characters without blanks and any of \" \\ , { "
           "} / :";
  };
}

template <typename T>
Reader Number(T& number, std::int64_t most) {
  return [&number, most](const toml::node& value) -> std::string {
    const auto* const got = value.as_integer();
    if (got != nullptr && got->get() >= 0 && got->get() <= most) {
      number = static_cast<T>(got->get());
      return "";
    }
    return absl::StrFormat("a whole number from 0 to %d", most) +
           (got == nullptr ? "" : absl::StrFormat(", not %d", got->get()));
  };
}

// A list, or its only member.
template <typename T>
Reader List(std::vector<T>& list, std::function<Reader(T&)> member) {
  return [&list, member](const toml::node& value) -> std::string {
    const toml::array* const array = value.as_array();
    for (std::size_t i = 0; i < (array == nullptr ? 1 : array->size()); ++i) {
      const toml::node& one = array == nullptr ? value : *array->get(i);
      const std::string wanted = member(list.emplace_back())(one);
      if (!wanted.empty()) return wanted + ", or a list of them";
    }
    return "";
  };
}

Reader Words(std::vector<std::string>& words) {
  return List<std::string>(words, Word);
}

Reader Counters(std::vector<std::uint32_t>& counters) {
  return [&counters](const toml::node& value) {
    std::string wanted =
        List<std::uint32_t>(counters, [](std::uint32_t& counter) {
          return Number(counter, kMaxCounter);
        })(value);
    std::sort(counters.begin(), counters.end());
    counters.erase(std::unique(counters.begin(), counters.end()),
                   counters.end());
    return wanted;
  };
}

class VocabularyFile {
 public:
  VocabularyFile(std::string_view text, const std::string& file)
      : text_(text), file_(file) {}

  absl::StatusOr<Vocabulary> Read() {
    absl::Status limits =
        base::CheckTomlLimits(text_, file_, {.bytes = kMaxVocabularyBytes});
    if (!limits.ok()) return limits;
    const toml::parse_result parsed = toml::parse(text_, file_);
    if (!parsed) {
      return ErrorAt(parsed.error().source(),
                     base::EscapeName(parsed.error().description()));
    }
    const toml::array *groups = nullptr, *events = nullptr;
    absl::Status status =
        ReadTable(parsed.table(), {{"model", Word(read_.model)},
                                   {"title", Text(read_.title)},
                                   {"architecture", Word(read_.architecture)},
                                   {"cpu", Text(read_.cpu)},
                                   {"counters", Counters(counters_)},
                                   {"group", Rows(groups)},
                                   {"event", Rows(events)}});
    for (std::size_t i = 0; groups != nullptr && i < groups->size(); ++i) {
      if (status.ok()) status = AddGroup(*groups->get_as<toml::table>(i));
    }
    for (std::size_t i = 0; events != nullptr && i < events->size(); ++i) {
      if (status.ok()) status = AddEvent(*events->get_as<toml::table>(i));
    }
    if (status.ok() && (read_.model.empty() || read_.architecture.empty() ||
                        read_.events.empty())) {
      status = base::ErrorAt(
          {file_}, "there is no model, no architecture or no [[event]]");
    }
    if (!status.ok()) return status;
    return std::move(read_);
  }

 private:
  absl::Status ErrorAt(const toml::source_region& at,
                       std::string_view message) const {
    return base::ErrorAt({file_, std::max<std::size_t>(1, at.begin.line),
                          std::max<std::size_t>(1, at.begin.column)},
                         message);
  }

  static Reader Rows(const toml::array*& rows) {
    return [&rows](const toml::node& value) -> std::string {
      rows = value.as_array();
      const bool tables =
          rows != nullptr && rows->is_homogeneous(toml::node_type::table);
      return tables ? "" : "tables: [[event]], [[group]]";
    };
  }

  absl::Status ReadTable(const toml::table& from, const Keys& keys) const {
    for (const auto& [key, value] : from) {
      const std::string_view word = key.str();
      std::string names;
      const Reader* reader = nullptr;
      for (const auto& [name, read] : keys) {
        names += (names.empty() ? "" : ", ") + std::string(name);
        if (name == word) reader = &read;
      }
      if (reader == nullptr) {
        return ErrorAt(key.source(),
                       absl::StrFormat("`%s` is not known here; there are %s",
                                       base::EscapeName(word), names));
      }
      const std::string wanted = (*reader)(value);
      if (!wanted.empty()) {
        return ErrorAt(value.source(),
                       absl::StrFormat("%s must be %s", word, wanted));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddGroup(const toml::table& from) {
    VocabularyGroup group;
    absl::Status status =
        ReadTable(from, {{"number", Number(group.number, kMaxGroup)},
                         {"name", Text(group.name)},
                         {"mmcr", Words(group.mmcr)}});
    if (!status.ok()) return status;
    if (!group.mmcr.empty() && group.mmcr.size() != 3) {
      return ErrorAt(from.source(),
                     absl::StrFormat("mmcr of group %d has %d of the 3 texts "
                                     "MMCR0, MMCR1, MMCRA",
                                     group.number, group.mmcr.size()));
    }
    const auto [other, is_new] =
        group_lines_.emplace(group.number, from.source().begin.line);
    if (!is_new) {
      return ErrorAt(from.source(),
                     absl::StrFormat("group %d is in line %d already",
                                     group.number, other->second));
    }
    read_.groups.push_back(std::move(group));
    return status;
  }

  absl::Status AddEvent(const toml::table& from) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    VocabularyEvent event;
    std::vector<std::uint32_t> group;
    const auto mask = [](std::uint64_t& one) { return Number(one, kMost); };
    absl::Status status =
        ReadTable(from, {{"name", Word(event.name)},
                         {"aliases", Words(event.aliases)},
                         {"code", Number(event.code, kMost)},
                         {"mask", mask(event.mask)},
                         {"masks", List<std::uint64_t>(event.masks, mask)},
                         {"mask_bits", mask(event.mask_bits)},
                         {"counters", Counters(event.counters)},
                         {"unit", Words(event.units)},
                         {"group", Number(group.emplace_back(), kMaxGroup)},
                         {"minimum", Number(event.minimum, kMost)},
                         {"description", Text(event.description)}});
    if (!status.ok()) return status;
    if (from.contains("group")) event.group = group[0];
    if (event.counters.empty()) event.counters = counters_;
    if (event.name.empty() || !from.contains("code") ||
        event.counters.empty()) {
      return ErrorAt(from.source(),
                     absl::StrFormat("the event %s has no name, no code or no "
                                     "counters",
                                     event.name));
    }
    if (event.group && event.units.empty() &&
        group_lines_.count(*event.group) == 0) {
      return ErrorAt(from.source(),
                     absl::StrFormat("%s, code 0x%x, is in group %d, which no "
                                     "[[group]] with its MMCR describes",
                                     event.name, event.code, *event.group));
    }
    status = CheckTwice(event, from.source());
    read_.events.push_back(std::move(event));
    return status;
  }

  // No counter counts two events with one code, or one event in two rows.
  absl::Status CheckTwice(const VocabularyEvent& event,
                          const toml::source_region& at) {
    const std::int64_t group = event.group ? *event.group : -1;
    const Row row = {event.name, event.code, at.begin.line};
    for (const std::uint32_t counter : event.counters) {
      const auto code = codes_.emplace(
          std::tuple{event.units, group, counter, event.mask, event.code}, row);
      const auto name = names_.emplace(
          std::tuple{absl::AsciiStrToLower(event.name), group, counter}, row);
      if (code.second && name.second) continue;
      const Row& other = code.second ? name.first->second : code.first->second;
      return ErrorAt(at, absl::StrFormat("%s, code 0x%x, and %s, code 0x%x, of "
                                         "line %d are both on counter %d",
                                         event.name, event.code, other.name,
                                         other.code, other.line, counter));
    }
    return absl::OkStatus();
  }

  struct Row {
    std::string name;
    std::uint64_t code = 0;
    std::uint32_t line = 0;
  };

  const std::string_view text_;
  const std::string& file_;
  Vocabulary read_;
  std::vector<std::uint32_t> counters_;  // of events without their own
  std::map<std::uint32_t, std::uint32_t> group_lines_;
  // What has that code, and that name, on a counter.
  std::map<std::tuple<std::vector<std::string>, std::int64_t, std::uint32_t,
                      std::uint64_t, std::uint64_t>,
           Row>
      codes_;
  std::map<std::tuple<std::string, std::int64_t, std::uint32_t>, Row> names_;
};

std::vector<VocabularyEvent> RowsOf(const Vocabulary& vocabulary,
                                    const std::string& name) {
  std::vector<VocabularyEvent> rows;
  const auto is_name = [&name](const std::string& other) {
    return absl::EqualsIgnoreCase(name, other);
  };
  for (const VocabularyEvent& event : vocabulary.events) {
    if (is_name(event.name) ||
        std::any_of(event.aliases.begin(), event.aliases.end(), is_name)) {
      rows.push_back(event);
    }
  }
  return rows;
}

}  // namespace

absl::StatusOr<Vocabulary> ParseVocabulary(std::string_view text,
                                           const std::string& file) {
  return VocabularyFile(text, file).Read();
}

std::optional<std::uint64_t> ParseCode(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X")
             ? base::ParseInteger(text.substr(2), 16)
             : base::ParseInteger(text);
}

GroupedName SplitGroup(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto group = base::ParseInteger(name.substr(digits));
  const std::string upper =
      absl::AsciiStrToUpper(std::string(name.substr(0, digits)));
  for (const std::string_view ending : {"_GRP", "_G"}) {
    if (group && *group <= std::uint64_t{kMaxGroup} &&
        upper.ends_with(ending)) {
      return {name.substr(0, digits - ending.size()),
              static_cast<std::uint32_t>(*group)};
    }
  }
  return {name, std::nullopt};
}

namespace {
bool CanHaveMask(const VocabularyEvent& event, std::uint64_t mask) {
  return mask == event.mask || (mask != 0 && (mask & ~event.mask_bits) == 0) ||
         std::find(event.masks.begin(), event.masks.end(), mask) !=
             event.masks.end();
}
}  // namespace

std::vector<VocabularyEvent> FindEvent(const Vocabulary& vocabulary,
                                       std::string_view name) {
  if (const std::size_t colon = name.find(':'); colon != name.npos) {
    const auto mask = ParseCode(name.substr(colon + 1));
    auto masked = FindEvent(vocabulary, name.substr(0, colon));
    std::erase_if(masked, [mask](const VocabularyEvent& event) {
      return !mask || !CanHaveMask(event, *mask);
    });
    for (VocabularyEvent& event : masked) event.mask = *mask;
    return masked;
  }
  std::vector<VocabularyEvent> rows = RowsOf(vocabulary, std::string(name));
  const GroupedName grouped = SplitGroup(name);
  if (!rows.empty() || !grouped.group) return rows;
  rows = RowsOf(vocabulary, std::string(grouped.name));
  const bool described = std::any_of(
      vocabulary.groups.begin(), vocabulary.groups.end(),
      [&](const VocabularyGroup& one) { return one.number == grouped.group; });
  for (VocabularyEvent& event : rows) {
    // What counts beside every group counts beside this one.
    if (!event.group && described) event.group = grouped.group;
  }
  std::erase_if(rows, [&](const VocabularyEvent& event) {
    return event.group != grouped.group;
  });
  return rows;
}

bool IsEventWord(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c <= '~' &&
           std::string_view("\"\\,{}/:").find(c) == std::string_view::npos;
  });
}

}  // namespace countrace::logformat
