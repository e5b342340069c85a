#include "logformat/import/mapping/mapping_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/regular_file.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"
#include "base/text/source_place.h"
#include "base/toml/toml_limits.h"
#include "base/toml/untrusted_toml.h"

namespace countrace::importer {

namespace {

using base::ErrorAt;
using base::SourcePlace;

base::SourcePlace PlaceOf(const std::string& file,
                          const toml::source_region& at) {
  return {file, std::max<std::size_t>(1, at.begin.line),
          std::max<std::size_t>(1, at.begin.column)};
}

std::string PlaceText(const base::SourcePlace& place) {
  return absl::StrFormat("%s:%d:%d", place.file, place.line, place.column);
}

// Dots nest tables; toml++ recurses.
constexpr std::ptrdiff_t kMaxDotsInLine = 32;
constexpr std::ptrdiff_t kMaxBrackets = 64;

class Parser {
 public:
  Parser(std::string_view text, const std::string& file)
      : text_(text), file_(file) {}

  absl::StatusOr<Mapping> Parse() {
    if (absl::Status status = CheckSize(); !status.ok()) return status;
    const toml::parse_result parsed = toml::parse(text_, file_);
    if (!parsed) {
      return base::ErrorAt(PlaceOf(file_, parsed.error().source()),
                           parsed.error().description());
    }
    for (const auto& [key, value] : parsed.table()) {
      absl::Status status;
      if (key.str() == "ignore") {
        status = ReadTexts(key, value, mapping_.ignore);
      } else if (key.str() == "segment") {
        status = ReadTables(key, value, &Parser::ReadSegment);
      } else if (key.str() == "point") {
        status = ReadTables(key, value, &Parser::ReadPoint);
      } else if (key.str() == "counter") {
        status = ReadTables(key, value, &Parser::ReadCounter);
      } else {
        status = UnknownKey(key, {"ignore", "segment", "point", "counter"});
      }
      if (!status.ok()) return status;
    }
    if (absl::Status status = CheckEvents(); !status.ok()) return status;
    return std::move(mapping_);
  }

 private:
  absl::Status CheckSize() const {
    absl::Status limits = base::CheckTomlLimits(
        text_, file_,
        {.bytes = kMaxMappingBytes, .dots_in_line = kMaxDotsInLine});
    if (!limits.ok()) return limits;
    std::size_t line = 1;
    std::ptrdiff_t open = 0, deepest = 0;
    for (std::string_view rest = text_; !rest.empty(); ++line) {
      const std::string_view one = rest.substr(0, rest.find('\n'));
      for (const char c : one) {
        open += (c == '[' || c == '{') - (c == ']' || c == '}');
        deepest = std::max(deepest, open);
      }
      if (deepest > kMaxBrackets) {
        return base::ErrorAt(
            {file_, line},
            absl::StrFormat("more than %d brackets are open", kMaxBrackets));
      }
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    }
    return absl::OkStatus();
  }

  absl::Status UnknownKey(const toml::key& key,
                          const std::vector<std::string>& known) const {
    const std::string_view nearest = base::NearestName(key.str(), known);
    std::string all;
    for (const std::string& name : known) {
      all += (all.empty() ? "" : ", ") + name;
    }
    return base::ErrorAt(
        PlaceOf(file_, key.source()),
        absl::StrFormat("unknown key `%s`; %s", base::EscapeName(key.str()),
                        nearest.empty()
                            ? absl::StrFormat("known are %s", all)
                            : absl::StrFormat("did you mean `%s`?", nearest)));
  }

  using ReadTable = absl::Status (Parser::*)(const toml::key&,
                                             const toml::table&);
  absl::Status ReadTables(const toml::key& key, const toml::node& value,
                          ReadTable read) {
    const toml::table* tables = value.as_table();
    if (tables == nullptr) {
      return base::ErrorAt(
          PlaceOf(file_, value.source()),
          absl::StrFormat("%s is no table; write [%s.\"NAME\"]", key.str(),
                          key.str()));
    }
    for (const auto& [name, one] : *tables) {
      const toml::table* table = one.as_table();
      if (table == nullptr) {
        return base::ErrorAt(
            PlaceOf(file_, name.source()),
            absl::StrFormat("%s is no table; a name with a colon or a dot "
                            "needs quotes: [%s.\"%s\"]",
                            base::EscapeName(name.str()), key.str(),
                            base::EscapeName(name.str())));
      }
      if (absl::Status status = (this->*read)(name, *table); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadText(const toml::key& key, const toml::node& value,
                        std::string& text) const {
    const auto* string = value.as_string();
    if (string == nullptr || string->get().empty()) {
      return base::ErrorAt(
          PlaceOf(file_, value.source()),
          absl::StrFormat("%s is no text; write it in quotes", key.str()));
    }
    text = string->get();
    return absl::OkStatus();
  }

  absl::Status ReadTexts(const toml::key& key, const toml::node& value,
                         std::vector<std::string>& texts) const {
    const toml::array* array = value.as_array();
    if (array == nullptr) {
      return base::ErrorAt(
          PlaceOf(file_, value.source()),
          absl::StrFormat("%s is no list; write [\"...\"]", key.str()));
    }
    for (const toml::node& one : *array) {
      if (absl::Status status = ReadText(key, one, texts.emplace_back());
          !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckName(const toml::key& name) const {
    const std::string_view text = name.str();
    const std::size_t colon = text.find(':');
    if (colon != text.npos && colon != 0 && colon + 1 != text.size()) {
      return absl::OkStatus();
    }
    return base::ErrorAt(PlaceOf(file_, name.source()),
                         absl::StrFormat("`%s` is no name of a hook; write "
                                         "\"PROVIDER:NAME\"",
                                         base::EscapeName(text)));
  }

  absl::Status Missing(const toml::key& name, const char* key) const {
    return base::ErrorAt(
        PlaceOf(file_, name.source()),
        absl::StrFormat("`%s` has no %s", base::EscapeName(name.str()), key));
  }

  absl::Status ReadSegment(const toml::key& name, const toml::table& table) {
    if (absl::Status status = CheckName(name); !status.ok()) return status;
    SegmentMapping segment;
    segment.name = name.str();
    segment.place = PlaceText(PlaceOf(file_, name.source()));
    for (const auto& [key, value] : table) {
      absl::Status status;
      if (key.str() == "begin") {
        status = ReadText(key, value, segment.begin);
      } else if (key.str() == "end") {
        status = ReadText(key, value, segment.end);
      } else if (key.str() == "key") {
        status = ReadTexts(key, value, segment.key);
      } else if (key.str() == "across_threads") {
        const auto* flag = value.as_boolean();
        if (flag == nullptr) {
          status = base::ErrorAt(PlaceOf(file_, value.source()),
                                 "across_threads is neither true nor false");
        } else {
          segment.across_threads = flag->get();
        }
      } else {
        status = UnknownKey(key, {"begin", "end", "key", "across_threads"});
      }
      if (!status.ok()) return status;
    }
    if (segment.begin.empty()) return Missing(name, "begin");
    if (segment.end.empty()) return Missing(name, "end");
    if (segment.across_threads && segment.key.empty()) {
      return base::ErrorAt(
          PlaceOf(file_, name.source()),
          absl::StrFormat("`%s` is across threads and has no key: "
                          "the begin of an end cannot be found",
                          base::EscapeName(name.str())));
    }
    mapping_.segments.push_back(std::move(segment));
    places_.push_back(PlaceOf(file_, name.source()));
    return absl::OkStatus();
  }

  absl::Status ReadPoint(const toml::key& name, const toml::table& table) {
    if (absl::Status status = CheckName(name); !status.ok()) return status;
    PointMapping point;
    point.name = name.str();
    point.place = PlaceText(PlaceOf(file_, name.source()));
    for (const auto& [key, value] : table) {
      const absl::Status status = key.str() == "event"
                                      ? ReadText(key, value, point.event)
                                      : UnknownKey(key, {"event"});
      if (!status.ok()) return status;
    }
    if (point.event.empty()) return Missing(name, "event");
    mapping_.points.push_back(std::move(point));
    return absl::OkStatus();
  }

  absl::Status ReadCounter(const toml::key& name, const toml::table& table) {
    CounterMapping counter;
    counter.name = name.str();
    counter.place = PlaceText(PlaceOf(file_, name.source()));
    for (const auto& [key, value] : table) {
      absl::Status status;
      if (key.str() == "field") {
        status = ReadText(key, value, counter.field);
      } else if (key.str() == "event") {
        status = ReadText(key, value, counter.event);
      } else {
        status = UnknownKey(key, {"field", "event"});
      }
      if (!status.ok()) return status;
    }
    if (counter.field.empty()) return Missing(name, "field");
    mapping_.counters.push_back(std::move(counter));
    return absl::OkStatus();
  }

  // An event has one role only: its meaning must be unambiguous.
  absl::Status CheckEvents() const {
    std::set<std::string> events;
    for (std::size_t i = 0; i < mapping_.segments.size(); ++i) {
      const SegmentMapping& segment = mapping_.segments[i];
      for (const std::string* event : {&segment.begin, &segment.end}) {
        if (events.insert(*event).second) continue;
        return base::ErrorAt(places_[i],
                             absl::StrFormat("event `%s` is mapped twice",
                                             base::EscapeName(*event)));
      }
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  const std::string& file_;
  Mapping mapping_;
  std::vector<base::SourcePlace> places_;  // of the segments
};

}  // namespace

absl::StatusOr<Mapping> ParseMapping(std::string_view text,
                                     const std::string& file) {
  return Parser(text, file).Parse();
}

absl::StatusOr<Mapping> ReadMappingFile(const std::string& path) {
  const auto text = base::ReadRegularFile(path, kMaxMappingBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrFormat("Cannot read mapping file %s: %s", path,
                                        base::StatusText(text.status())));
  }
  return ParseMapping(*text, path);
}

bool MatchesEventGlob(std::string_view glob, std::string_view name) {
  std::size_t g = 0, n = 0, star = std::string_view::npos, after = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace countrace::importer
