// Any bytes as --where: rows selected, all of them in every table, or a message
// with the place.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rmap/report/report_render.h"
#include "rmap/where/row_filter.h"
#include "tests/rmap/metrics/metric_fixture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace countrace::rmap;  // NOLINT: the test's subject
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto where = where::ParseWhere(text);
  const auto check = [](const absl::Status& status) {
    if (status.message().find("--where:") != 0) std::abort();
    if (status.message().find('\x1b') != absl::string_view::npos) std::abort();
    return 0;
  };
  if (!where.ok()) return check(where.status());
  static const Report report = [] {
    Report made =
        countrace::test_support::ReportOf({{"cycles", 12}, {"page-faults", 0}});
    SegmentRow segment;
    segment.segment = "redis:cmd_get";
    segment.path = {"redis:loop", "redis:cmd_get"};
    segment.comm = "redis-server";
    segment.counts.resize(2);
    made.segments = made.segment_paths = {segment};
    return made;
  }();
  const auto selection = where::SelectRows(*where, report);
  if (!selection.ok()) return check(selection.status());
  for (const auto& [table, rows] : selection->tables) {
    if (rows.selected > rows.rows.size()) std::abort();
  }
  for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kJson}) {
    const std::string out =
        RenderReport(report, {.format = format, .selection = &*selection});
    if (out.find('\x1b') != std::string::npos) std::abort();
  }
  return 0;
}
