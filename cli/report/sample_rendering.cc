#include "cli/report/sample_rendering.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/output_width.h"
#include "cli/program/exit_status.h"
#include "cli/program/short_name.h"
#include "cli/program/verb.h"
#include "rmap/result/samples.h"
#include "rmap/samples/rows/samples_json.h"

namespace countrace::cli {
namespace {

// Cuts names of functions and of their source where lines would be wider than
// a terminal.
void ShortenNames(const std::vector<std::string>& columns, std::size_t width,
                  std::vector<std::vector<Cell>>& rows) {
  constexpr std::size_t kLeast = 24, kBetween = 2;
  std::vector<std::size_t> widths;
  for (const std::string& column : columns) widths.push_back(column.size());
  for (const std::vector<Cell>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* const text = std::get_if<std::string>(&row[i]);
      if (text != nullptr) widths[i] = std::max(widths[i], text->size());
    }
  }
  std::size_t all = kBetween * (widths.size() - 1);
  for (const std::size_t one : widths) all += one;
  // The widest first: a path says less than the function.
  for (const std::string_view name : {"source", "function"}) {
    const auto at = std::find(columns.begin(), columns.end(), name);
    if (at == columns.end() || all <= width) continue;
    const auto i = static_cast<std::size_t>(at - columns.begin());
    const std::size_t over = all - width;
    const std::size_t least = std::min(kLeast, widths[i]);
    const std::size_t to =
        widths[i] > over ? std::max(least, widths[i] - over) : least;
    for (std::vector<Cell>& row : rows) {
      auto* const text = std::get_if<std::string>(&row[i]);
      if (text == nullptr) continue;
      *text =
          name == "source" ? ShortPath(*text, to) : ShortFunction(*text, to);
    }
    all -= widths[i] - to;
  }
}

std::string Text(const rmap::Samples& samples, const SampleRows& tables,
                 const SampleBooksOfEvents& books,
                 const rmap::RenderOptions& options) {
  RowTable rows("", "", tables.text_columns);
  const std::size_t all = tables.text.size();
  const std::size_t shown = options.max_rows == 0
                                ? all
                                : std::min<std::size_t>(all, options.max_rows);
  std::vector<std::vector<Cell>> cells(
      tables.text.begin(),
      tables.text.begin() + static_cast<std::ptrdiff_t>(shown));
  if (options.width != base::kAnyWidth) {
    ShortenNames(tables.text_columns, options.width, cells);
  }
  for (std::vector<Cell>& row : cells) rows.Add(std::move(row));
  std::string text = rows.Render("text");
  if (shown < all) {
    absl::StrAppendFormat(&text, "%d more rows: --rows 0 shows all\n",
                          all - shown);
  }
  text += BooksText(samples, books);
  for (const std::string& note : tables.notes) text += "note: " + note + "\n";
  return text;
}

std::string Json(const rmap::Samples& samples, const SampleRows& tables,
                 const SampleBooksOfEvents& books) {
  nlohmann::ordered_json out;
  out["schema"] = "countrace.samples/1";
  out["books"] = rmap::BooksJson(samples, books.events, books.periods);
  out["rows"] = nlohmann::ordered_json::array();
  for (const std::vector<Cell>& cells : tables.machine) {
    nlohmann::ordered_json row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& name = tables.machine_columns[i];
      if (const auto* text = std::get_if<std::string>(&cells[i])) {
        row[name] = *text;
      } else if (const auto* number = std::get_if<std::uint64_t>(&cells[i])) {
        row[name] = *number;
      } else if (const auto* yes = std::get_if<bool>(&cells[i])) {
        row[name] = *yes;
      } else {
        row[name] = nullptr;
      }
    }
    out["rows"].push_back(std::move(row));
  }
  out["notes"] = tables.notes;
  // Names of files may be no UTF-8.
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

ReportAnswer Answer(const rmap::Report& report,
                    const SampleBooksOfEvents& books, std::string text) {
  ReportAnswer answer = AnswerOf(report, std::move(text));
  for (const rmap::SampleBooks& one : books.events) {
    answer.has_loss |= one.lost + one.stacks_lost != 0;
  }
  for (const rmap::PeriodComparison& one : books.periods) {
    answer.periods_disagree |= one.disagree();
  }
  return answer;
}

}  // namespace

ReportAnswer RenderSamples(const rmap::Report& report, const SampleRows& tables,
                           const SampleBooksOfEvents& books,
                           const std::string& format,
                           const rmap::RenderOptions& options) {
  const rmap::Samples& samples = *report.samples;
  if (format == "text") {
    return Answer(report, books, Text(samples, tables, books, options));
  }
  for (const std::string& note : tables.notes) Say(kReportVerb.name, note);
  if (format == "json") {
    return Answer(report, books, Json(samples, tables, books));
  }
  RowTable rows("countrace.samples/1", "rows", tables.machine_columns);
  for (const std::vector<Cell>& row : tables.machine) rows.Add(row);
  return Answer(report, books, rows.Render(format));
}

}  // namespace countrace::cli
