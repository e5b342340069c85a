// Columns of a tree of rules.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "rmap/columns/column_cells.h"
#include "rmap/columns/report_columns.h"

namespace countrace::rmap {
namespace {

Column<TreeRow> RealColumn(const char* name, const char* title,
                           const char* meaning,
                           std::optional<double> TreeRow::*field) {
  return {{name}, title, Unit::kCount, meaning, Field(field), true};
}

// "0.3349"; of other rules "47.86", "5.01 %".
std::string TreeValueText(const TreeRow& row,
                          const std::optional<double>& value) {
  if (!value) return "-";
  if (row.in_tree) return absl::StrFormat("%.4f", *value);
  return absl::StrFormat("%.2f%s", *value, row.unit == "percent" ? " %" : "");
}

Cell IntervalText(const TreeRow& row) {
  if (!row.lo && !row.hi) return std::monostate();
  return absl::StrFormat("[%s, %s]", TreeValueText(row, row.lo),
                         TreeValueText(row, row.hi));
}

}  // namespace

std::vector<Column<TreeRow>> TreeColumns(const Report& report) {
  const bool change = report.tree_table->is_change;
  const auto name = [](const char* column, const char* title,
                       const char* meaning, std::string TreeRow::*field) {
    return Column<TreeRow>{
        {column}, title, Unit::kNone, meaning, [field](const TreeRow& row) {
          return NameOrAbsent(row.*field);
        }};
  };
  return {
      name("owner", report.tree_table->has_owners ? "of" : "",
           "Whose counts, as `pid=7 comm=work`; absent: the trace's.",
           &TreeRow::owner),
      name("code", "code", "What the tree calls the node: C1A.",
           &TreeRow::code),
      name("name", "", "Its rule.", &TreeRow::name),
      name("parent", "", "The node that it is a part of.", &TreeRow::parent),
      {{"depth"}, "", Unit::kCount, "Nodes above it.", Field(&TreeRow::depth)},
      RealColumn("before", change ? "before" : "",
                 "In a comparison: value before.", &TreeRow::before),
      RealColumn("count", change ? "" : "count",
                 "Its count; absent if its events are of several runs.",
                 &TreeRow::count),
      RealColumn("share", change ? "" : "share",
                 "Part of the root, in its own run.", &TreeRow::share),
      RealColumn(
          "value", change ? "after" : "value",
          "For each unit of the tree's `per`, in its own run: the CPI; a rule "
          "outside the tree has its value.",
          &TreeRow::value),
      name("unit", "", "Its unit, outside the tree.", &TreeRow::unit),
      RealColumn("change", change ? "change" : "", "value less before.",
                 &TreeRow::change),
      RealColumn(
          "lo", "",
          "Lower end of the interval of value (in a comparison: of change): "
          "95 %, or bounds.",
          &TreeRow::lo),
      RealColumn("hi", "", "Upper end.", &TreeRow::hi),
      RealColumn("part", change ? "part" : "", "Part of the root's change.",
                 &TreeRow::part),
      name("verdict", change ? "verdict" : "",
           "beyond_noise, within_noise, may_be_loss or noise_unknown.",
           &TreeRow::verdict),
      RealColumn("rest", "", "value less the sum of its parts.",
                 &TreeRow::rest),
      {{"quality"},
       "",
       Unit::kQuality,
       "How sure value is.",
       Field(&TreeRow::value_quality)},
      name("absent", "", "Why it has no value.", &TreeRow::absent),
      name("meaning", "", "What it is.", &TreeRow::meaning)};
}

std::vector<Column<TreeRow>> TreeTextColumns(const Report& report) {
  std::vector<Column<TreeRow>> columns = TreeColumns(report);
  const auto is = [](const char* name) {
    return [name](const Column<TreeRow>& column) {
      return column.name[0] == name;
    };
  };
  const auto at = [&](const char* name) {
    return std::find_if(columns.begin(), columns.end(), is(name));
  };
  at("name")->title = "part";
  at("name")->value = [](const TreeRow& row) -> Cell {
    return std::string(2 * row.depth, ' ') +
           (row.meaning.empty() ? row.name : row.meaning);
  };
  at("count")->value = [](const TreeRow& row) -> Cell {
    if (!row.count) return std::monostate();
    const double size = std::abs(*row.count);
    return (*row.count < 0 ? "-" : "") +
           base::FormatCount(static_cast<std::uint64_t>(std::llround(size)));
  };
  at("share")->value = [](const TreeRow& row) -> Cell {
    if (!row.share) return std::monostate();
    return absl::StrFormat("%.2f %%", *row.share * 100);
  };
  for (const auto& [name, field] : {std::pair{"before", &TreeRow::before},
                                    std::pair{"change", &TreeRow::change},
                                    std::pair{"rest", &TreeRow::rest}}) {
    at(name)->value = [field = field](const TreeRow& row) -> Cell {
      return row.*field ? TreeValueText(row, row.*field) : Cell();
    };
  }
  at("value")->value = [](const TreeRow& row) -> Cell {
    if (!row.value) return std::monostate();
    // As in the tables of metrics: an estimate without an interval.
    const bool about = !row.lo && !row.hi &&
                       (row.value_quality == Quality::kScaled ||
                        row.value_quality == Quality::kInferred);
    return (about ? "~" : "") + TreeValueText(row, row.value);
  };
  at("part")->value = [](const TreeRow& row) -> Cell {
    if (!row.part) return std::monostate();
    return absl::StrFormat("%.1f %%", *row.part * 100);
  };
  const auto any = [&](auto has) {
    return std::any_of(report.tree_table->rows.begin(),
                       report.tree_table->rows.end(), has);
  };
  if (any([](const TreeRow& row) { return row.lo || row.hi; })) {
    columns.insert(at("change") + 1,
                   {{"interval"}, "interval", Unit::kCount, "", IntervalText});
  }
  if (any([](const TreeRow& row) { return row.rest.value_or(0) != 0; })) {
    at("rest")->title = "less its parts";
  }
  if (any([](const TreeRow& row) { return !row.absent.empty(); })) {
    at("absent")->title = "absent";
    at("absent")->value = [](const TreeRow& row) -> Cell { return row.absent; };
  }
  return columns;
}

}  // namespace countrace::rmap
