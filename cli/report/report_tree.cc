#include "cli/report/report_tree.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/verb.h"
#include "cli/report/report_metrics.h"
#include "rmap/columns/chosen_columns.h"
#include "rmap/metrics/tree_over_time.h"
#include "rmap/metrics/tree_rows.h"
#include "rmap/report/report_views.h"
#include "rmap/report/text_tables.h"
#include "rmap/report/tree_svg.h"

namespace countrace::cli {
namespace {

using rmap::ReportBy;
using rmap::ReportFormat;
using rmap::TreeTable;
using rmap::metrics::Scope;

constexpr std::uint64_t kMostIntervals = 1000;

absl::StatusOr<Scope> ScopeOf(ReportBy by) {
  for (const Scope scope : rmap::metrics::kAllScopes) {
    if (rmap::metrics::TableOf(scope) == by) return scope;
  }
  return AsUsage(absl::InvalidArgumentError(
      "--tree takes --by process, thread, segment, path, cpu or time"));
}

// The trees of the intervals of the trace.
absl::StatusOr<TreeTable> OverTime(const ReportRequest& request,
                                   const rmap::Report& whole,
                                   rmap::metrics::TreeRequest tree) {
  const std::uint64_t length_ns = whole.end_ns - whole.begin_ns;
  const std::uint64_t every_ns =
      request.every_ns != 0 ? request.every_ns : length_ns / 10 + 1;
  if (length_ns / every_ns >= kMostIntervals) {
    return AsUsage(absl::InvalidArgumentError(
        absl::StrFormat("--every %s makes %d trees, more than %d",
                        base::FormatNanoseconds(static_cast<double>(every_ns)),
                        length_ns / every_ns + 1, kMostIntervals)));
  }
  const auto read =
      [&request](std::uint64_t from_ns,
                 std::uint64_t until_ns) -> absl::StatusOr<rmap::Report> {
    auto reader = request.input->Open(request.trace);
    if (!reader.ok()) return reader.status();
    return rmap::Reconstruct(
        **reader, {.gating = request.gating, .range = {from_ns, until_ns}});
  };
  auto intervals = rmap::metrics::TreesOverTime({.begin_ns = whole.begin_ns,
                                                 .end_ns = whole.end_ns,
                                                 .every_ns = every_ns},
                                                {std::move(tree)}, read);
  if (!intervals.ok()) return intervals.status();
  TreeTable all;
  all.has_owners = true;
  for (rmap::metrics::TreeInterval& interval : *intervals) {
    TreeTable& made = interval.tables[0];
    all.title = made.title;
    std::move(made.rows.begin(), made.rows.end(), std::back_inserter(all.rows));
  }
  return all;
}

}  // namespace

std::string RenderTree(const rmap::Report& report,
                       const rmap::RenderOptions& options) {
  const TreeTable& tree = *report.tree_table;
  if (options.format == ReportFormat::kText) {
    // Rules outside the tree for which nothing was counted are a note.
    rmap::Report shown = report;
    shown.tree_table = std::make_shared<TreeTable>(tree);
    const std::size_t left_out =
        std::erase_if(shown.tree_table->rows, [](const rmap::TreeRow& row) {
          return !row.in_tree && !row.value && !row.before;
        });
    rmap::TextTables tables(shown, options);
    tables.Table("", rmap::TreeTextColumns(shown), shown.tree_table->rows);
    std::string text =
        "TREE " + base::EscapeName(tree.title) + "\n" + tables.out();
    if (left_out != 0) {
      absl::StrAppendFormat(&text,
                            "note: %d other rules of the tree's file need "
                            "events that were not counted\n",
                            left_out);
    }
    for (const std::string& note : tree.messages) {
      text += "note: " + note + "\n";
    }
    return text;
  }
  if (options.format == ReportFormat::kCsv) {
    return rmap::RenderCsv(report, options);
  }
  nlohmann::ordered_json out = {{"schema", "countrace.tree/1"},
                                {"tree", tree.title}};
  out["notes"] = tree.messages;
  std::string lines;
  if (options.format == ReportFormat::kJsonLines) {
    rmap::ForEachJsonRow(report, options, [&lines](const auto& row) {
      lines += rmap::DumpJson(row, -1) + "\n";
    });
    return lines;
  }
  auto& rows = out["rows"] = nlohmann::ordered_json::array();
  rmap::ForEachJsonRow(report, options,
                       [&rows](const auto& row) { rows.push_back(row); });
  return rmap::DumpJson(out, 1) + "\n";
}

absl::StatusOr<ReportAnswer> ReportTree(const ReportRequest& request,
                                        bool over_time) {
  const auto scope = ScopeOf(request.render.by);
  if (!scope.ok()) return scope.status();
  if (*scope == Scope::kTrace && request.selects()) {
    return AsUsage(absl::InvalidArgumentError(
        "--where, --process and --thread choose rows, and the tree is of the "
        "whole trace: add --by process, for example"));
  }
  auto source = SourceOf(request);
  if (!source.ok()) return source.status();
  rmap::metrics::RuleSet rules = request.rules;
  std::vector<std::string> events = source->Events();
  const auto others = ReadOthers(request);
  if (!others.ok()) return others.status();
  for (const OtherTrace& other : *others) {
    for (const auto& event : other.report->events) events.push_back(event.name);
  }
  if (absl::Status fits = rules.Check(events); !fits.ok()) {
    return AsUsage(fits);
  }
  auto rows = ReadRows(request, request.render.by, *source);
  if (!rows.ok()) return rows.status();
  rmap::metrics::TreeRequest tree{
      .rules = &rules,
      .tree = request.metrics.tree,
      .runs = {{"", &rows->report}},
      .scope = *scope,
      .selection = rows->selection ? &*rows->selection : nullptr,
      .owner = ""};
  for (const OtherTrace& other : *others) {
    tree.runs.push_back({other.label, other.report.get()});
  }
  auto made = over_time ? OverTime(request, rows->report, tree)
                        : rmap::metrics::MakeTreeTable(tree);
  if (absl::IsInvalidArgument(made.status())) return AsUsage(made.status());
  if (!made.ok()) return made.status();
  rmap::Report report = rows->report;
  for (std::string& scaled : ScaledCounts(report)) {
    made->messages.push_back(std::move(scaled));
  }
  report.tree_table = std::make_shared<TreeTable>(*std::move(made));
  rmap::RenderOptions render = request.render;
  render.by = ReportBy::kTree;
  render.selection = nullptr;  // of the owners
  const absl::Status columns =
      rmap::CheckColumns(report, {ReportBy::kTree}, render.columns);
  if (!columns.ok()) return AsUsage(columns);
  if (request.metrics.picture) {
    return AnswerOf(report, rmap::RenderTreeSvg(*report.tree_table));
  }
  return AnswerOf(report, RenderTree(report, render));
}

absl::StatusOr<ReportAnswer> ReportListing(const ReportRequest& request) {
  auto reader = request.input->Open(request.trace);
  if (!reader.ok()) return reader.status();
  const std::vector<std::string> text = (*reader)->info().listing;
  // Strangers' text, which is printed as it is.
  const bool plain =
      std::all_of(text.begin(), text.end(), [](const auto& part) {
        return std::all_of(part.begin(), part.end(), [](unsigned char c) {
          return absl::ascii_isprint(c) || c == '\n' || c == '\t';
        });
      });
  if (text.size() != 3 || !plain) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s was not imported from a listing of pmcount%s, and a listing has "
        "text that no other trace has: --format text, json, jsonl or csv",
        request.trace, plain ? "" : " in printable text"));
  }
  const auto report = rmap::Reconstruct(**reader, {});
  if (!report.ok()) return report.status();
  const bool whole = std::all_of(
      report->cpu_rows.begin(), report->cpu_rows.end(),
      [&](const rmap::CpuRow& cpu) {
        return cpu.counts.size() == report->events.size() &&
               std::all_of(cpu.counts.begin(), cpu.counts.end(),
                           [](const auto& one) { return one.has_value(); });
      });
  if (!whole) {
    return absl::DataLossError(absl::StrFormat(
        "%s: counts of a CPU are missing, and a listing cannot say so: "
        "--format text shows what is there",
        request.trace));
  }
  std::string out = text[0];
  std::vector<std::uint64_t> all(report->events.size(), 0);
  const auto line = [&](const std::string& name,
                        const std::vector<std::uint64_t>& counts) {
    out += absl::StrFormat("[%s]", name);
    for (const std::uint64_t count : counts) {
      absl::StrAppendFormat(&out, " %d", count);
    }
    out += "\n";
  };
  for (const rmap::CpuRow& cpu : report->cpu_rows) {
    std::vector<std::uint64_t> counts;
    for (std::size_t i = 0; i < all.size(); ++i) {
      counts.push_back(*cpu.counts[i]);
      all[i] += counts[i];
    }
    // The last is what is not listed.
    if (text[1].empty() || &cpu != &report->cpu_rows.back()) {
      line(absl::StrFormat("%2d", cpu.cpu), counts);
    }
  }
  out += text[1];
  line("ALL", all);
  return AnswerOf(*report, out + text[2]);
}

}  // namespace countrace::cli
