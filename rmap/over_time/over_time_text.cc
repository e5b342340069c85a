#include "rmap/over_time/over_time_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/columns/report_columns.h"
#include "rmap/over_time/interval_bounds.h"

namespace countrace::rmap {
namespace {

constexpr std::size_t kBarColumns = 20;

// The share of CPU time that an account has at least and at most; empty: exact.
std::string ShareLimits(const TimeSeries& series, std::size_t interval,
                        Account account) {
  const Bounds bounds = TimeBounds(series, interval, account);
  const std::uint64_t total = series.TotalTime(interval);
  if (bounds.lo == bounds.hi) return "";
  return absl::StrFormat("[%s, %s]", base::FormatShare(bounds.lo, total),
                         base::FormatShare(bounds.hi, total));
}

// As many digits as the interval length needs.
std::string ShortOffset(const TimeSeries& series, std::uint64_t time_ns) {
  std::size_t digits = 9;
  for (std::uint64_t unit = 10; digits > 1 && series.every_ns % unit == 0;
       unit *= 10) {
    --digits;
  }
  const std::string text = SecondsText(series, time_ns);
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

}  // namespace

std::string SecondsText(const TimeSeries& series, std::uint64_t time_ns) {
  return base::FormatSeconds(time_ns - series.origin_ns);
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

}  // namespace countrace::rmap
