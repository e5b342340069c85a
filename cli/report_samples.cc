#include "cli/report_samples.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "cli/exit_status.h"
#include "cli/progress_bar.h"
#include "cli/row_table.h"
#include "cli/verb.h"

namespace countrace::cli {
namespace {

using rmap::CodeBy;
using rmap::CodeRow;
using rmap::SampleBooks;
using rmap::SampledAmount;

bool IsClock(const std::string& event) {
  return event.starts_with("cpu-clock") || event.starts_with("task-clock");
}

std::string Amount(const std::string& event, double value) {
  return IsClock(event) ? base::FormatNanoseconds(value)
                        : base::FormatShortCount(value);
}

// "31.2 % [29.1, 33.4]".
std::string Share(const SampledAmount& amount) {
  if (amount.hits == 0) return "-";
  return absl::StrFormat("~%.1f %% [%.1f, %.1f]", amount.share * 100,
                         amount.share_lo * 100, amount.share_hi * 100);
}

class SampleTables {
 public:
  SampleTables(const rmap::Samples& samples, const rmap::CodeTable& table,
               CodeBy by, std::uint64_t max_rows)
      : samples_(samples), table_(table), by_(by), max_rows_(max_rows) {
    several_ = samples.events.size() > 1;
    contexts_ = std::any_of(table.rows.begin(), table.rows.end(),
                            [](const CodeRow& row) { return !row.in.empty(); });
  }

  std::string Text() const {
    RowTable rows("", "", TextColumns());
    std::uint64_t shown = 0;
    for (const CodeRow& row : table_.rows) {
      if (max_rows_ != 0 && shown == max_rows_) break;
      ++shown;
      rows.Add(TextRow(row));
    }
    std::string text = rows.Render("text");
    if (shown < table_.rows.size()) {
      absl::StrAppendFormat(&text, "%d more rows: --rows 0 shows all\n",
                            table_.rows.size() - shown);
    }
    for (const SampleBooks& books : table_.books) text += BooksText(books);
    for (const std::string& message : table_.messages) {
      text += "note: " + message + "\n";
    }
    return text;
  }

  // One row a line, or CSV.
  std::string Rows(const std::string& format) const {
    RowTable rows("countrace.samples/1", "rows", MachineColumns());
    for (const CodeRow& row : table_.rows) rows.Add(MachineRow(row));
    return rows.Render(format);
  }

  std::string Json() const {
    nlohmann::ordered_json out;
    out["schema"] = "countrace.samples/1";
    out["books"] = nlohmann::ordered_json::array();
    for (const SampleBooks& books : table_.books) {
      const rmap::SampledEvent& event = samples_.events[books.event];
      nlohmann::ordered_json one;
      one["event"] = event.name;
      one["rate"] = event.rate;
      one["counted"] = nullptr;
      one["residual"] = nullptr;
      if (books.counted != 0) {
        one["counted"] = books.counted;
        one["residual"] = books.residual;
      }
      one["processes"] = books.processes;
      one["idle"] = books.idle;
      one["outside"] = books.outside;
      one["one_period_a_cpu"] = books.per_cpu;
      one["samples"] = books.hits;
      one["lost"] = books.lost;
      one["throttled"] = books.throttled;
      one["stacks_lost"] = books.stacks_lost;
      out["books"].push_back(std::move(one));
    }
    const std::vector<std::string> names = MachineColumns();
    out["rows"] = nlohmann::ordered_json::array();
    for (const CodeRow& row : table_.rows) {
      nlohmann::ordered_json one;
      const std::vector<Cell> cells = MachineRow(row);
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (const auto* text = std::get_if<std::string>(&cells[i])) {
          one[names[i]] = *text;
        } else if (const auto* number = std::get_if<std::uint64_t>(&cells[i])) {
          one[names[i]] = *number;
        } else {
          one[names[i]] = nullptr;
        }
      }
      out["rows"].push_back(std::move(one));
    }
    out["notes"] = table_.messages;
    // Names of files may be no UTF-8.
    return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
           "\n";
  }

 private:
  const std::string& EventOf(const CodeRow& row) const {
    return samples_.events[row.event].name;
  }

  std::vector<std::string> TextColumns() const {
    std::vector<std::string> columns;
    if (several_) columns.emplace_back("event");
    columns.insert(columns.end(),
                   {"self", "total", "self of all", "total of all"});
    if (contexts_) columns.emplace_back("in");
    if (by_ != CodeBy::kDso) columns.emplace_back("function");
    columns.emplace_back("dso");
    if (by_ == CodeBy::kAddress) {
      columns.insert(columns.end(), {"address", "source"});
    }
    return columns;
  }

  std::vector<Cell> TextRow(const CodeRow& row) const {
    std::vector<Cell> cells;
    if (several_) cells.emplace_back(EventOf(row));
    for (const SampledAmount* amount : {&row.self, &row.total}) {
      cells.emplace_back(
          amount->hits == 0
              ? std::string("-")
              : "~" + Amount(EventOf(row), static_cast<double>(amount->value)));
    }
    cells.emplace_back(Share(row.self));
    cells.emplace_back(Share(row.total));
    if (contexts_) cells.emplace_back(row.in);
    if (by_ != CodeBy::kDso) cells.emplace_back(row.function);
    cells.emplace_back(row.dso);
    if (by_ == CodeBy::kAddress) {
      cells.emplace_back(absl::StrFormat("0x%x", row.address));
      cells.emplace_back(row.source);
    }
    return cells;
  }

  std::vector<std::string> MachineColumns() const {
    std::vector<std::string> columns = {"event", "in"};
    if (by_ != CodeBy::kDso) columns.emplace_back("function");
    columns.emplace_back("dso");
    if (by_ == CodeBy::kAddress) {
      columns.insert(columns.end(), {"address", "source"});
    }
    columns.insert(columns.end(),
                   {"self_samples", "self", "self_lo", "self_hi",
                    "total_samples", "total", "total_lo", "total_hi"});
    return columns;
  }

  std::vector<Cell> MachineRow(const CodeRow& row) const {
    std::vector<Cell> cells = {EventOf(row), row.in};
    if (by_ != CodeBy::kDso) cells.emplace_back(row.function);
    cells.emplace_back(row.dso);
    if (by_ == CodeBy::kAddress) {
      cells.emplace_back(absl::StrFormat("0x%x", row.address));
      cells.emplace_back(row.source);
    }
    for (const SampledAmount* amount : {&row.self, &row.total}) {
      cells.insert(cells.end(),
                   {amount->hits, amount->value, amount->lo, amount->hi});
    }
    return cells;
  }

  std::string BooksText(const SampleBooks& books) const {
    const rmap::SampledEvent& event = samples_.events[books.event];
    const auto amount = [&](std::uint64_t value) {
      return Amount(event.name, static_cast<double>(value));
    };
    std::string text = absl::StrFormat(
        "books of %s (%s, %d samples): ", event.name, event.rate, books.hits);
    std::vector<std::string> parts = {"processes " + amount(books.processes)};
    if (books.idle != 0) parts.push_back("idle " + amount(books.idle));
    if (books.outside != 0) parts.push_back("outside " + amount(books.outside));
    if (books.counted == 0) {
      return text + absl::StrJoin(parts, " + ") +
             "; how much was counted is not known\n";
    }
    const double residual = static_cast<double>(books.residual);
    absl::StrAppendFormat(
        &text, "%s = counted %s %s %s residual (one period of each CPU: %s)\n",
        absl::StrJoin(parts, " + "), amount(books.counted),
        residual < 0 ? "+" : "-",
        Amount(event.name, residual < 0 ? -residual : residual),
        amount(books.per_cpu));
    if (books.lost != 0) {
      absl::StrAppendFormat(
          &text, "  lost: %d samples found no room in the kernel's ring\n",
          books.lost);
    }
    if (books.throttled != 0) {
      absl::StrAppendFormat(&text,
                            "  the kernel stopped sampling %d times: at too "
                            "high a rate; take fewer a second\n",
                            books.throttled);
    }
    if (books.stacks_lost != 0) {
      absl::StrAppendFormat(&text, "  %d samples lost their stack\n",
                            books.stacks_lost);
    }
    return text;
  }

  const rmap::Samples& samples_;
  const rmap::CodeTable& table_;
  const CodeBy by_;
  const std::uint64_t max_rows_;
  bool several_ = false, contexts_ = false;
};

}  // namespace

absl::StatusOr<ReportAnswer> ReportSamples(const ReportRequest& request,
                                           CodeBy by,
                                           const std::string& format) {
  auto reader = request.input->Open(request.trace);
  if (!reader.ok()) return reader.status();
  rmap::TableRange tables_of;
  if (request.range.given()) {
    const auto range = ParseRange(request.range, ExtentOf(**reader));
    if (!range.ok()) {
      return AsUsage(absl::InvalidArgumentError(range.status().message()));
    }
    tables_of = {range->from_ns, range->to_ns};
  }
  ProgressBar progress("reading " + request.trace,
                       request.input->show_progress());
  const auto report =
      rmap::Reconstruct(**reader, {.gating = request.gating,
                                   .rows = {.samples = true},
                                   .range = tables_of,
                                   .progress = progress.Callback(),
                                   .keep_interrupted = true});
  progress.Clear();
  if (!report.ok()) return report.status();
  const rmap::Samples& samples = *report->samples;
  if (samples.events.empty()) {
    return absl::FailedPreconditionError(
        "the trace has no samples: `countrace record --sample 199` takes them");
  }
  rmap::CodeTable table =
      rmap::MakeCodeTable(samples, (*reader)->info(), by, /*by_context=*/true);
  if (report->of_range) {
    // The counts are of the whole recording.
    for (SampleBooks& books : table.books) books.counted = 0;
  }
  const SampleTables tables(samples, table, by, request.render.max_rows);
  if (format == "text") return AnswerOf(*report, tables.Text());
  for (const std::string& message : table.messages) {
    Say(kReportVerb.name, message);
  }
  return AnswerOf(*report,
                  format == "json" ? tables.Json() : tables.Rows(format));
}

}  // namespace countrace::cli
