#include "cli/report/sample_rendering.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/posix/output_width.h"
#include "base/text/name_escape.h"
#include "cli/program/exit_status.h"
#include "cli/program/short_name.h"
#include "cli/program/verb.h"
#include "rmap/report/report_views.h"
#include "rmap/report/selection_json.h"
#include "rmap/report/selection_text.h"
#include "rmap/report/text_tables.h"
#include "rmap/result/samples.h"
#include "rmap/samples/rows/samples_json.h"

namespace countrace::cli {
namespace {

using rmap::ReportBy;
using rmap::SampleRow;

class SampleText {
 public:
  SampleText(const rmap::Report& report, const rmap::RenderOptions& options)
      : report_(report),
        options_(options),
        columns_(rmap::SampleTextColumns(report)),
        rows_(rmap::SelectedRows(report.sample_table->rows, options.selection,
                                 ReportBy::kSample, kept_)) {}

  std::string Render() {
    // A path says less than the function.
    Shorten("source", ShortPath);
    Shorten("function", ShortFunction);
    return Table(options_);
  }

 private:
  std::string Table(const rmap::RenderOptions& options) const {
    rmap::TextTables tables(report_, options);
    tables.Table("", columns_, rows_);
    return std::move(tables.out());
  }

  // Cuts names where lines would be wider than a terminal.
  void Shorten(std::string_view name,
               std::string (*shortened)(const std::string&, std::size_t)) {
    const auto column = std::find_if(
        columns_.begin(), columns_.end(),
        [name](const auto& one) { return one.name.front() == name; });
    if (column == columns_.end() || options_.width == base::kAnyWidth) return;
    rmap::RenderOptions plain = options_;
    plain.color = false;
    std::size_t all = 0, widest = 0;
    for (const std::string& line :
         std::vector<std::string>(absl::StrSplit(Table(plain), '\n'))) {
      all = std::max(all, base::DisplayColumns(line));
    }
    if (all <= options_.width) return;
    const auto text = [value = column->value](const SampleRow& row) {
      return std::get<std::string>(value(row));
    };
    for (const SampleRow& row : rows_) {
      widest = std::max(widest, text(row).size());
      if (options_.max_rows != 0 && &row == &rows_[options_.max_rows - 1]) {
        break;
      }
    }
    constexpr std::size_t kLeast = 24;
    const std::size_t to =
        std::max(std::min(kLeast, widest),
                 widest - std::min(widest, all - options_.width));
    column->value = [text, shortened, to](const SampleRow& row) -> rmap::Cell {
      return shortened(text(row), to);
    };
  }

  const rmap::Report& report_;
  const rmap::RenderOptions& options_;
  std::vector<rmap::Column<SampleRow>> columns_;
  std::vector<SampleRow> kept_;
  const std::vector<SampleRow>& rows_;  // kept_, or all
};

std::string Text(const rmap::Report& report, const SampleBooksOfEvents& books,
                 const rmap::RenderOptions& options) {
  std::string text = SampleText(report, options).Render();
  if (options.selection != nullptr) {
    text += rmap::where::SelectionText(*options.selection, {ReportBy::kSample},
                                       options) +
            "\n";
  }
  text += BooksText(*report.samples, books);
  for (const std::string& note : report.sample_table->messages) {
    text += "note: " + note + "\n";
  }
  return text;
}

std::string Json(const rmap::Report& report, const SampleBooksOfEvents& books,
                 const rmap::RenderOptions& options) {
  nlohmann::ordered_json out = {{"schema", "countrace.samples/1"}};
  if (options.selection != nullptr) {
    out["where"] = rmap::where::SelectionObject(*options.selection);
  }
  out["books"] = rmap::BooksJson(*report.samples, books.events, books.periods);
  auto& rows = out["rows"] = nlohmann::ordered_json::array();
  rmap::ForEachJsonRow(report, options,
                       [&rows](const auto& row) { rows.push_back(row); });
  out["notes"] = report.sample_table->messages;
  return rmap::DumpJson(out, 1) + "\n";
}

std::string Rendered(const rmap::Report& report,
                     const SampleBooksOfEvents& books,
                     const rmap::RenderOptions& options) {
  if (options.format == rmap::ReportFormat::kText) {
    return Text(report, books, options);
  }
  for (const std::string& note : report.sample_table->messages) {
    Say(kReportVerb.name, note);
  }
  if (options.format == rmap::ReportFormat::kJson) {
    return Json(report, books, options);
  }
  if (options.format == rmap::ReportFormat::kCsv) {
    return rmap::RenderCsv(report, options);
  }
  std::string lines;
  rmap::ForEachJsonRow(report, options, [&lines](const auto& row) {
    lines += rmap::DumpJson(row, -1) + "\n";
  });
  return lines;
}

}  // namespace

ReportAnswer RenderSamples(const rmap::Report& report,
                           const SampleBooksOfEvents& books,
                           const rmap::RenderOptions& options) {
  ReportAnswer answer = AnswerOf(report, Rendered(report, books, options));
  for (const rmap::SampleBooks& one : books.events) {
    answer.has_loss |= one.lost + one.stacks_lost != 0;
  }
  for (const rmap::PeriodComparison& one : books.periods) {
    answer.periods_disagree |= one.disagree();
  }
  return answer;
}

}  // namespace countrace::cli
