// An analysis of your own: reads a trace, reconstructs what ran when, and
// prints the segments that took the most time and what the books leave over.
//
//   own_analysis TRACE
#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/text/name_escape.h"
#include "logformat/read/trace_reader.h"
#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"

namespace {

using countrace::base::EscapeName;
using countrace::rmap::Books;
using countrace::rmap::Report;
using countrace::rmap::SegmentRow;
namespace metrics = countrace::rmap::metrics;

constexpr std::size_t kMostRows = 5;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "own_analysis: %s\n", status.ToString().c_str());
  return 1;
}

// Rows of the report are plain structs: sort and filter them as you like.
void PrintTopSegments(const Report& report) {
  std::vector<const SegmentRow*> rows;
  for (const SegmentRow& row : report.segments) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const SegmentRow* a, const SegmentRow* b) {
              return a->wall.excl > b->wall.excl;
            });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  for (const SegmentRow* row : rows) {
    // Names in a trace are untrusted: escape them before a terminal sees them.
    std::printf("%s: %" PRIu64 " calls, %" PRIu64 " ns of its own\n",
                EscapeName(row->segment).c_str(), row->calls, row->wall.excl);
  }
}

// A metric of your own, checked for units and evaluated for each segment.
absl::Status PrintMetric(const Report& report) {
  metrics::RuleSet rules;
  absl::Status status =
      metrics::AddCommandLineRule("mean_call = wall_ns / calls", rules);
  if (status.ok()) status = rules.Check(EventNames(report.events));
  if (!status.ok()) return status;
  const std::size_t rule = *rules.Find("mean_call");
  metrics::Evaluator evaluator(rules, {{"", &report}});
  for (std::size_t row = 0; row < report.segments.size(); ++row) {
    const metrics::MetricValue value =
        evaluator.Value(rule, metrics::Scope::kSegment, row);
    std::printf("%s: %s\n", EscapeName(report.segments[row].segment).c_str(),
                value.value ? std::to_string(*value.value).c_str()
                            : value.absent.c_str());
  }
  return absl::OkStatus();
}

// The books of an event balance if no record was lost: the residual is 0.
void PrintResiduals(const Report& report) {
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    const Books& books = report.books[i];
    if (!books.known) continue;
    std::printf("%s: residual %" PRId64 " of %" PRIu64 "\n",
                EscapeName(report.events[i].name).c_str(), books.residual,
                books.total);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: own_analysis TRACE\n", stderr);
    return 2;
  }
  const auto reader = countrace::logformat::TraceReader::Open(argv[1]);
  if (!reader.ok()) return Fail(reader.status());
  const auto report = countrace::rmap::Reconstruct(**reader, {});
  if (!report.ok()) return Fail(report.status());

  std::puts("== segments with the most time of their own");
  PrintTopSegments(*report);
  std::puts("== mean call");
  const absl::Status status = PrintMetric(*report);
  if (!status.ok()) return Fail(status);
  std::puts("== residual of the books");
  PrintResiduals(*report);
  std::puts("== as countrace report prints it");
  std::fputs(RenderReport(*report, {.max_rows = kMostRows}).c_str(), stdout);
  return 0;
}
