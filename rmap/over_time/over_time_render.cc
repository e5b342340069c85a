#include "rmap/over_time/over_time_render.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/columns/report_columns.h"
#include "rmap/over_time/interval_bounds.h"

namespace countrace::rmap {
namespace {

using Json = nlohmann::ordered_json;

struct NamedAccount {
  const char* name;
  const char* title;
  char mark;  // in the bar
  Account account;
};
constexpr NamedAccount kNamedAccounts[] = {
    {"processes", "on CPU", '#', Account::kProcesses},
    {"interrupts", "interrupts", '!', Account::kInterrupts},
    {"outside", "outside", '-', Account::kOutside},
    {"unattributed", "unattr.", '?', Account::kUnattributed},
    {"idle", "idle", '.', Account::kIdle},
};
constexpr std::size_t kBarColumns = 20;

Json LimitsJson(const Bounds& bounds) {
  return {bounds.lo,
          bounds.hi == Bounds::kNone ? Json(nullptr) : Json(bounds.hi)};
}

// The share of CPU time that an account has at least and at most; empty: exact.
std::string ShareLimits(const TimeSeries& series, std::size_t interval,
                        Account account) {
  const Bounds bounds = TimeBounds(series, interval, account);
  const std::uint64_t total = series.TotalTime(interval);
  if (bounds.lo == bounds.hi) return "";
  return absl::StrFormat("[%s, %s]", base::FormatShare(bounds.lo, total),
                         base::FormatShare(bounds.hi, total));
}

std::string Dump(const Json& json, int indent) {
  // Names can contain any bytes.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string Offset(const TimeSeries& series, std::uint64_t time_ns) {
  return base::FormatSeconds(time_ns - series.origin_ns);
}

// As many digits as the interval length needs.
std::string ShortOffset(const TimeSeries& series, std::uint64_t time_ns) {
  std::size_t digits = 9;
  for (std::uint64_t unit = 10; digits > 1 && series.every_ns % unit == 0;
       unit *= 10) {
    --digits;
  }
  const std::string text = Offset(series, time_ns);
  return text.substr(0, text.size() - (9 - digits));
}

std::string Duration(std::uint64_t ns) {
  return base::FormatNanoseconds(static_cast<double>(ns));
}

bool HasAccount(const TimeSeries& series, Account account) {
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series.Time(i, account) != 0) return true;
  }
  return false;
}

std::string Head(const TimeSeries& series, const char* what) {
  return absl::StrFormat("%s: %s, %s, %d CPUs; %d intervals of %s\n",
                         base::EscapeName(series.path), what,
                         Duration(series.end_ns - series.begin_ns), series.cpus,
                         series.size(), Duration(series.every_ns));
}

std::string Title(const char* title, bool color) {
  return color ? absl::StrFormat("\n\x1b[1m%s\x1b[0m\n", title)
               : absl::StrFormat("\n%s\n", title);
}

// One mark for each part of CPU time. Columns come from cumulative sums, so
// that their number is always the same.
std::string Bar(const TimeSeries& series, std::size_t interval) {
  const std::uint64_t total = series.TotalTime(interval);
  std::string bar;
  if (total == 0) return bar;
  std::uint64_t so_far = 0;
  for (const NamedAccount& named : kNamedAccounts) {
    so_far += series.Time(interval, named.account);
    const double columns =
        static_cast<double>(so_far) * kBarColumns / static_cast<double>(total);
    bar.resize(
        std::max(bar.size(), static_cast<std::size_t>(std::lround(columns))),
        named.mark);
  }
  return bar;
}

// The count of the selected processes, of the command's, or of the machine.
std::string CountText(const TimeSeries& series, std::size_t interval,
                      std::size_t event) {
  const auto shown = [&]() -> std::pair<std::uint64_t, Bounds> {
    if (series.has_selected) {
      return {series.SelectedCount(interval, event),
              SelectedCountBounds(series, interval, event)};
    }
    if (series.of_command) {
      return {series.Count(interval, Account::kProcesses, event),
              CountBounds(series, interval, Account::kProcesses, event)};
    }
    return {series.TotalCount(interval, event),
            TotalCountBounds(series, interval, event)};
  };
  const auto [count, bounds] = shown();
  const Quality quality = series.QualityOf(interval, event);
  // A multiplexed event: the counted value, not an estimate of the whole.
  const bool exact = bounds.lo == bounds.hi && (quality == Quality::kExact ||
                                                quality == Quality::kInferred);
  const char* const mark = exact                          ? ""
                           : quality == Quality::kBounded ? ">="
                                                          : "~";
  return mark + (UnitOfEvent(series.events[event]) == Unit::kNanoseconds
                     ? Duration(count)
                     : base::FormatCount(count));
}

// The accounts that have columns.
struct ShownAccounts {
  std::vector<NamedAccount> shares, limits;
  std::string legend;
};

ShownAccounts AddColumns(const TimeSeries& series, std::size_t rows,
                         base::TextTable& table) {
  ShownAccounts accounts;
  table.AddColumn("from s", base::TextTable::Align::kRight);
  if (series.has_kernel_records) {
    table.AddColumn("CPUs", base::TextTable::Align::kLeft);
    for (const NamedAccount& named : kNamedAccounts) {
      if (named.account != Account::kProcesses &&
          !HasAccount(series, named.account)) {
        continue;
      }
      accounts.shares.push_back(named);
      accounts.legend +=
          absl::StrFormat("%s%c %s", accounts.legend.empty() ? "" : ", ",
                          named.mark, named.title);
      table.AddColumn(named.title, base::TextTable::Align::kRight,
                      named.account != Account::kProcesses);
    }
  }
  if (series.has_selected) {
    table.AddColumn("selected", base::TextTable::Align::kRight);
  }
  if (series.has_calls) {
    table.AddColumn("calls", base::TextTable::Align::kRight);
    table.AddColumn("in calls", base::TextTable::Align::kRight);
    if (series.has_kernel_records) {
      table.AddColumn("on CPU in calls", base::TextTable::Align::kRight, true);
    }
  }
  for (const std::string& event : series.events) {
    table.AddColumn(base::EscapeName(event), base::TextTable::Align::kRight,
                    true);
  }
  for (const NamedAccount& named : accounts.shares) {
    bool any = false;
    for (std::size_t i = 0; i < rows; ++i) {
      any |= !ShareLimits(series, i, named.account).empty();
    }
    if (!any) continue;
    accounts.limits.push_back(named);
    table.AddColumn(std::string(named.title) + " [lo, hi]",
                    base::TextTable::Align::kRight, true);
  }
  return accounts;
}

std::vector<std::string> TableRow(const TimeSeries& series, std::size_t i,
                                  const ShownAccounts& accounts) {
  std::vector<std::string> row = {ShortOffset(series, series.BeginOf(i))};
  if (series.has_kernel_records) {
    row.push_back(Bar(series, i));
    for (const NamedAccount& named : accounts.shares) {
      row.push_back(base::FormatShare(series.Time(i, named.account),
                                      series.TotalTime(i)));
    }
  }
  if (series.has_selected) {
    row.push_back(
        base::FormatShare(series.SelectedTime(i), series.TotalTime(i)));
  }
  if (series.has_calls) {
    row.push_back(base::FormatCount(series.Calls(i).calls));
    row.push_back(Duration(series.Calls(i).wall_ns));
    if (series.has_kernel_records) {
      row.push_back(Duration(series.Calls(i).on_cpu_ns));
    }
  }
  for (std::size_t event = 0; event < series.events.size(); ++event) {
    row.push_back(CountText(series, i, event));
  }
  for (const NamedAccount& named : accounts.limits) {
    row.push_back(ShareLimits(series, i, named.account));
  }
  return row;
}

std::string OverTimeText(const TimeSeries& series,
                         const RenderOptions& options) {
  std::string out = Head(series, "over time");
  if (!series.has_kernel_records) {
    out += "no kernel records: the threads on the CPUs are unknown\n";
  }
  out += Title("OVER TIME", options.color);
  base::TextTable table;
  const std::size_t rows = options.max_rows == 0
                               ? series.size()
                               : std::min(series.size(), options.max_rows);
  const ShownAccounts accounts = AddColumns(series, rows, table);
  for (std::size_t i = 0; i < rows; ++i) {
    table.AddRow(TableRow(series, i, accounts));
  }
  out += table.Render(options.width, options.color);
  if (rows < series.size()) {
    out += absl::StrFormat("and %d more intervals: --rows 0 shows all\n",
                           series.size() - rows);
  }
  if (!accounts.legend.empty()) out += accounts.legend + "\n";
  if (series.has_selected) {
    out += "counts are those of the processes selected\n";
  } else if (series.of_command) {
    out += "counts are those of the command's processes\n";
  }
  return out;
}

// --- JSON and CSV ------------------------------------------------------------

Json IntervalJson(const TimeSeries& series, std::size_t i) {
  Json json;
  json["begin_ns"] = series.BeginOf(i);
  json["end_ns"] = series.EndOf(i);
  if (series.has_kernel_records) {
    for (const NamedAccount& named : kNamedAccounts) {
      json["cpu_ns"][named.name] = series.Time(i, named.account);
    }
  }
  Json& counts = json["counts"] = Json::object();
  for (std::size_t event = 0; event < series.events.size(); ++event) {
    Json& count = counts[series.events[event]];
    count["total"] = series.TotalCount(i, event);
    for (const NamedAccount& named : kNamedAccounts) {
      count[named.name] = series.Count(i, named.account, event);
    }
    count["quality"] = QualityName(series.QualityOf(i, event));
  }
  if (series.has_selected) {
    Json& selected = json["selected"];
    selected["on_cpu_ns"] = series.SelectedTime(i);
    selected["counts"] = Json::object();
    for (std::size_t event = 0; event < series.events.size(); ++event) {
      selected["counts"][series.events[event]] = {
          {"count", series.SelectedCount(i, event)},
          {"quality", QualityName(series.QualityOf(i, event))}};
    }
  }
  if (series.has_calls) {
    const IntervalCalls& calls = series.Calls(i);
    json["segments"] = {
        {"calls", calls.calls},
        {"wall_ns", calls.wall_ns},
        {"on_cpu_ns",
         series.has_kernel_records ? Json(calls.on_cpu_ns) : Json(nullptr)}};
  }
  const NamedBounds bounds = BoundsOfInterval(series, i);
  if (!bounds.empty()) {
    json["qualities"] = QualitiesOfInterval(series, i).Names();
    for (const auto& [name, limits] : bounds) {
      json["bounds"][name] = LimitsJson(limits);
    }
  }
  return json;
}

Json DocumentOf(const TimeSeries& series, const char* schema) {
  Json json;
  json["schema"] = schema;
  json["trace"] = {{"path", series.path},
                   {"begin_ns", series.begin_ns},
                   {"end_ns", series.end_ns},
                   {"cpus", series.cpus},
                   {"events", series.events}};
  json["every_ns"] = series.every_ns;
  return json;
}

std::string CsvName(const std::string& name) {
  return base::CsvField(base::EscapeName(name));
}

// Names or values of one line; a number that can have an interval is followed
// by its limits, if the caller asked for them; hi empty: no upper limit.
class CsvLine {
 public:
  explicit CsvLine(bool bounds) : bounds_(bounds) {}
  void Text(const std::string& text) {
    out_ += (out_.empty() ? "" : ",") + text;
  }
  void Name(const std::string& name) {
    Text(CsvName(name));
    if (!bounds_) return;
    Text(CsvName(name + ".lo"));
    Text(CsvName(name + ".hi"));
  }
  void Value(const std::string& value, const Bounds& bounds) {
    Text(value);
    if (!bounds_) return;
    Text(std::to_string(bounds.lo));
    Text(bounds.hi == Bounds::kNone ? "" : std::to_string(bounds.hi));
  }
  void Value(std::uint64_t value, const Bounds& bounds) {
    Value(std::to_string(value), bounds);
  }
  std::string Take() { return std::move(out_) + "\n"; }

 private:
  bool bounds_;
  std::string out_;
};

std::string CsvHeader(const TimeSeries& series, bool bounds) {
  CsvLine line(bounds);
  for (const char* name : {"begin_ns", "end_ns", "offset_s"}) line.Text(name);
  if (series.has_kernel_records) {
    for (const NamedAccount& named : kNamedAccounts) {
      line.Name(std::string(named.name) + "_ns");
    }
  }
  if (series.has_selected) line.Name("selected_ns");
  if (series.has_calls) {
    for (const char* name : {"calls", "calls_wall_ns", "calls_on_cpu_ns"}) {
      line.Name(name);
    }
  }
  for (const std::string& event : series.events) {
    line.Name(event);
    if (series.has_selected) line.Name(event + ".selected");
    line.Text(CsvName(event + ".quality"));
  }
  return line.Take();
}

std::string OverTimeCsv(const TimeSeries& series, bool bounds) {
  std::string out = CsvHeader(series, bounds);
  for (std::size_t i = 0; i < series.size(); ++i) {
    CsvLine line(bounds);
    line.Text(std::to_string(series.BeginOf(i)));
    line.Text(std::to_string(series.EndOf(i)));
    line.Text(Offset(series, series.BeginOf(i)));
    if (series.has_kernel_records) {
      for (const NamedAccount& named : kNamedAccounts) {
        line.Value(series.Time(i, named.account),
                   TimeBounds(series, i, named.account));
      }
    }
    if (series.has_selected) {
      line.Value(series.SelectedTime(i), SelectedTimeBounds(series, i));
    }
    if (series.has_calls) {
      const IntervalCalls& calls = series.Calls(i);
      const CallBounds limits = BoundsOfCalls(series, i);
      line.Value(calls.calls, limits.calls);
      line.Value(calls.wall_ns, limits.wall_ns);
      line.Value(
          series.has_kernel_records ? std::to_string(calls.on_cpu_ns) : "",
          limits.on_cpu_ns);
    }
    for (std::size_t event = 0; event < series.events.size(); ++event) {
      line.Value(series.TotalCount(i, event),
                 TotalCountBounds(series, i, event));
      if (series.has_selected) {
        line.Value(series.SelectedCount(i, event),
                   SelectedCountBounds(series, i, event));
      }
      line.Text(QualityName(series.QualityOf(i, event)));
    }
    out += line.Take();
  }
  return out;
}

// --- Phases ------------------------------------------------------------------

std::string ValueText(const Feature& feature, double value) {
  if (feature.share) return absl::StrFormat("%.1f %%", 100 * value);
  return base::FormatCount(static_cast<std::uint64_t>(std::llround(value))) +
         "/s";
}

std::string Changes(const std::vector<Feature>& features,
                    const std::vector<Phase>& phases, std::size_t number) {
  constexpr std::size_t kShown = 3;
  const std::vector<std::size_t>& changed = phases[number].changed;
  std::string text;
  for (std::size_t i = 0; i < std::min(changed.size(), kShown); ++i) {
    const std::size_t f = changed[i];
    text += absl::StrFormat("%s%s %s -> %s", text.empty() ? "" : ", ",
                            base::EscapeName(features[f].name),
                            ValueText(features[f], phases[number - 1].means[f]),
                            ValueText(features[f], phases[number].means[f]));
  }
  return text;
}

std::string PhasesText(const TimeSeries& series,
                       const std::vector<Feature>& features,
                       const std::vector<Phase>& phases,
                       const RenderOptions& options) {
  std::string out = Head(series, "phases");
  out += Title("PHASES", options.color);
  base::TextTable table;
  table.AddColumn("phase", base::TextTable::Align::kRight);
  table.AddColumn("from s", base::TextTable::Align::kRight);
  table.AddColumn("to s", base::TextTable::Align::kRight);
  std::vector<std::size_t> shown;
  for (std::size_t f = 0; f < features.size(); ++f) {
    const auto& values = features[f].values;
    if (std::none_of(values.begin(), values.end(),
                     [](double value) { return value != 0; })) {
      continue;
    }
    shown.push_back(f);
    table.AddColumn(base::EscapeName(features[f].name),
                    base::TextTable::Align::kRight,
                    /*optional=*/true);
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    std::vector<std::string> row = {
        std::to_string(i + 1), ShortOffset(series, series.BeginOf(phase.begin)),
        ShortOffset(series, series.EndOf(phase.end - 1))};
    for (const std::size_t f : shown) {
      row.push_back(ValueText(features[f], phase.means[f]));
    }
    if (i != 0) {
      const std::string changes = Changes(features, phases, i);
      if (!changes.empty()) table.AddHeading("    " + changes);
    }
    table.AddRow(std::move(row));
  }
  return out + table.Render(options.width, options.color);
}

Json PhaseJson(const TimeSeries& series, const std::vector<Feature>& features,
               const Phase& phase) {
  Json json;
  json["begin_ns"] = series.BeginOf(phase.begin);
  json["end_ns"] = series.EndOf(phase.end - 1);
  json["intervals"] = phase.end - phase.begin;
  json["shares"] = Json::object();
  json["per_s"] = Json::object();
  for (std::size_t f = 0; f < features.size(); ++f) {
    json[features[f].share ? "shares" : "per_s"][features[f].name] =
        phase.means[f];
  }
  Json& changed = json["changed"] = Json::array();
  for (const std::size_t f : phase.changed) {
    changed.push_back(features[f].name);
  }
  return json;
}

std::string PhasesCsv(const TimeSeries& series,
                      const std::vector<Feature>& features,
                      const std::vector<Phase>& phases) {
  std::string out = "begin_ns,end_ns,intervals";
  for (const Feature& feature : features) {
    out += "," + CsvName(feature.name + (feature.share ? "" : "_per_s"));
  }
  out += "\n";
  for (const Phase& phase : phases) {
    out +=
        absl::StrFormat("%d,%d,%d", series.BeginOf(phase.begin),
                        series.EndOf(phase.end - 1), phase.end - phase.begin);
    for (const double mean : phase.means) out += absl::StrFormat(",%.6g", mean);
    out += "\n";
  }
  return out;
}

}  // namespace

std::string RenderOverTime(const TimeSeries& series,
                           const RenderOptions& options) {
  switch (options.format) {
    case ReportFormat::kText:
      return OverTimeText(series, options);
    case ReportFormat::kCsv:
      return OverTimeCsv(series, options.bounds);
    case ReportFormat::kJson: {
      Json json = DocumentOf(series, "countrace.over_time/1");
      Json& intervals = json["intervals"] = Json::array();
      for (std::size_t i = 0; i < series.size(); ++i) {
        intervals.push_back(IntervalJson(series, i));
      }
      return Dump(json, 1) + "\n";
    }
    case ReportFormat::kJsonLines:
      break;
  }
  std::string out;
  for (std::size_t i = 0; i < series.size(); ++i) {
    out += Dump(IntervalJson(series, i), -1) + "\n";
  }
  return out;
}

std::string RenderPhases(const TimeSeries& series,
                         const std::vector<Feature>& features,
                         const std::vector<Phase>& phases,
                         const RenderOptions& options) {
  switch (options.format) {
    case ReportFormat::kText:
      return PhasesText(series, features, phases, options);
    case ReportFormat::kCsv:
      return PhasesCsv(series, features, phases);
    case ReportFormat::kJson: {
      Json json = DocumentOf(series, "countrace.phases/1");
      Json& list = json["phases"] = Json::array();
      for (const Phase& phase : phases) {
        list.push_back(PhaseJson(series, features, phase));
      }
      return Dump(json, 1) + "\n";
    }
    case ReportFormat::kJsonLines:
      break;
  }
  std::string out;
  for (const Phase& phase : phases) {
    out += Dump(PhaseJson(series, features, phase), -1) + "\n";
  }
  return out;
}

}  // namespace countrace::rmap
