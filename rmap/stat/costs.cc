#include "rmap/stat/costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/stat/repeated_numbers.h"

namespace countrace::rmap {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

constexpr double kMostCount = 1e18;

// Fields of a line of CSV; quotes are doubled inside quotes.
std::vector<std::string> Fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::optional<double> ParseValue(const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= 0 && value <= kMostCount)) {
    return std::nullopt;
  }
  return value;
}

class CountsFile {
 public:
  CountsFile(std::string_view text, const std::string& file)
      : text_(text), file_(file) {}

  absl::StatusOr<std::vector<CountedEvent>> Read() {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      const absl::Status status = Add(line);
      if (!status.ok()) return status;
    }
    return std::move(counts_);
  }

 private:
  absl::Status Error(std::string_view message) const {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s:%d: %s", file_, number_, message));
  }

  absl::Status Add(std::string_view line) {
    if (!columns_.empty()) return AddRow(Fields(line));
    if (counts_.empty() && line.starts_with("name,")) {
      const std::vector<std::string> names = Fields(line);
      for (std::size_t i = 0; i < names.size(); ++i) columns_[names[i]] = i;
      if (columns_.contains("value")) return absl::OkStatus();
      return Error("there is no column `value`");
    }
    return AddListed(line);
  }

  // "Cycles..... 7945053664"
  absl::Status AddListed(std::string_view line) {
    const std::size_t blank = line.rfind(' ');
    const std::optional<double> value =
        blank == line.npos ? std::nullopt
                           : ParseValue(std::string(line.substr(blank + 1)));
    if (!value) {
      return Error(
          "neither the heading `name,...` of `countrace stat --csv` nor a line "
          "`EVENT..... COUNT`");
    }
    std::string_view name = line.substr(0, blank);
    while (name.ends_with('.') || name.ends_with(' ')) name.remove_suffix(1);
    counts_.push_back({std::string(name), *value, *value, *value});
    return absl::OkStatus();
  }

  absl::Status AddRow(const std::vector<std::string>& fields) {
    const auto field = [&](const char* name) {
      const auto at = columns_.find(name);
      return at != columns_.end() && at->second < fields.size()
                 ? fields[at->second]
                 : std::string();
    };
    const std::optional<double> value = ParseValue(field("value"));
    if (!value) return Error("the value is no number");
    CountedEvent event{field("name"), *value, *value, *value};
    // An interval may lack its upper limit.
    if (const auto lo = ParseValue(field("lo"))) {
      event.lo = std::min(*lo, *value);
      const auto hi = ParseValue(field("hi"));
      event.hi = hi ? std::max(*hi, *value) : kNoLimit;
    }
    counts_.push_back(std::move(event));
    return absl::OkStatus();
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t number_ = 0;
  std::map<std::string, std::size_t> columns_;
  std::vector<CountedEvent> counts_;
};

// Each event of the table that was counted, with its count.
template <typename Visit>
void VisitCounted(const CostTable& table,
                  const std::vector<CountedEvent>& counts, const Visit& visit) {
  std::map<std::string, std::vector<const CountedEvent*>> by_name;
  for (const CountedEvent& count : counts)
    by_name[count.name].push_back(&count);
  std::map<std::string, std::size_t> seen;
  for (const CostedEvent& event : table.events) {
    const auto found = by_name.find(event.name);
    if (found == by_name.end()) continue;
    const std::size_t turn = seen[event.name]++;
    if (turn < found->second.size()) visit(event, *found->second[turn]);
  }
}

std::string TimeText(double ns) {
  return std::isfinite(ns) ? base::FormatNanoseconds(ns) : "no limit";
}

std::string CountText(double count) {
  return base::FormatCount(static_cast<std::uint64_t>(std::llround(count)));
}

}  // namespace

std::vector<CountedEvent> CountedEvents(
    const std::vector<std::vector<StatNumber>>& runs) {
  std::vector<CountedEvent> counts;
  if (runs.size() > 1) {
    for (const RepeatedNumber& number : RepeatedNumbersOf(runs)) {
      counts.push_back(
          {number.name, number.mean, number.lo.value_or(number.mean),
           number.hi.value_or(number.lo ? kNoLimit : number.mean)});
    }
    return counts;
  }
  for (const StatNumber& number : runs.front()) {
    const double value = static_cast<double>(number.value);
    CountedEvent event{number.name, value, value, value};
    if (number.bounds) {
      event.lo = static_cast<double>(number.bounds->lo);
      event.hi = number.bounds->hi == Bounds::kNone
                     ? kNoLimit
                     : static_cast<double>(number.bounds->hi);
    }
    counts.push_back(std::move(event));
  }
  return counts;
}

absl::StatusOr<std::vector<CountedEvent>> ParseCounts(std::string_view text,
                                                      const std::string& file) {
  return CountsFile(text, file).Read();
}

std::vector<CostRow> CostsOf(const CostTable& table,
                             const std::vector<CountedEvent>& counts) {
  std::vector<CostRow> rows;
  VisitCounted(table, counts,
               [&rows](const CostedEvent& event, const CountedEvent& count) {
                 if (!event.cost) return;
                 // Without a cost, any number of events takes no time.
                 const double most = event.cost->max_ns == 0
                                         ? 0
                                         : count.hi * event.cost->max_ns;
                 rows.push_back({count, count.value * event.cost->typical_ns,
                                 count.lo * event.cost->min_ns, most});
               });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CostRow& a, const CostRow& b) {
                     return a.typical_ns > b.typical_ns;
                   });
  return rows;
}

std::vector<CountedTwice> EventsCountedTwice(
    const std::vector<CountedEvent>& counts) {
  std::vector<CountedTwice> twice;
  std::map<std::string, double> first;
  for (const CountedEvent& count : counts) {
    const auto [at, is_new] = first.emplace(count.name, count.value);
    if (is_new) continue;
    const double larger = std::max(at->second, count.value);
    const double apart =
        larger == 0 ? 0 : std::abs(at->second - count.value) / larger;
    twice.push_back({count.name, at->second, count.value, apart});
  }
  return twice;
}

std::string CostsText(const CostTable& table,
                      const std::vector<CountedEvent>& counts,
                      std::size_t width, bool color) {
  using Align = base::TextTable::Align;
  base::TextTable text;
  for (const char* title : {"typical", "min", "max", "count"}) {
    text.AddColumn(title, Align::kRight);
  }
  text.AddColumn("event", Align::kLeft);
  for (const CostRow& row : CostsOf(table, counts)) {
    text.AddRow({TimeText(row.typical_ns), TimeText(row.min_ns),
                 TimeText(row.max_ns), CountText(row.counted.value),
                 base::EscapeName(row.counted.name)});
  }
  std::string out = "COSTS";
  if (!table.title.empty()) out += " of " + base::EscapeName(table.title);
  out += "\n" + text.Render(width, color);
  for (const CountedTwice& event : EventsCountedTwice(counts)) {
    if (event.apart == 0) continue;
    absl::StrAppendFormat(&out,
                          "  (%s was counted twice: %s and %s, %.2f %% "
                          "apart)\n",
                          base::EscapeName(event.name), CountText(event.first),
                          CountText(event.second), 100 * event.apart);
  }
  return out;
}

std::string PerfexText(const CostTable& table,
                       const std::vector<CountedEvent>& counts) {
  std::string out;
  VisitCounted(table, counts,
               [&out](const CostedEvent& event, const CountedEvent& count) {
                 absl::StrAppendFormat(
                     &out, "%s%s%.0f\n", base::EscapeName(event.name),
                     base::EscapeName(event.leader), count.value);
               });
  return out;
}

}  // namespace countrace::rmap
