#include "cli/stat/stat_costs.h"

#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "base/posix/output_width.h"
#include "base/posix/regular_file.h"
#include "cli/program/exit_status.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "rmap/stat/costs.h"

namespace countrace::cli {
namespace {

constexpr std::uint64_t kMostBytes = 16 << 20;

}  // namespace

absl::StatusOr<rmap::CostTable> OpenCostTable(const std::string& name) {
  if (const std::string_view shipped = rmap::ShippedCostTable(name);
      !shipped.empty()) {
    return rmap::ParseCostTable(shipped, name);
  }
  const auto text = base::ReadNamedFile(name, kMostBytes);
  if (!text.ok()) return text.status();
  return rmap::ParseCostTable(*text, name);
}

int StatOfCounts(const VerbParser& parser, const StatCommandLine& line) {
  if (!line.command.empty() || line.all_cpus || !line.pids.empty() ||
      !line.cgroup.empty()) {
    return parser.UsageError(
        "--counts reads counts of another run: leave out what is to be "
        "counted");
  }
  if (line.cost.empty()) {
    return parser.UsageError("--counts needs --cost TABLE");
  }
  const auto table = OpenCostTable(line.cost);
  if (!table.ok()) return ReportFailure(kStatVerb.name, table.status());
  const auto text = base::ReadNamedFile(line.counts, kMostBytes);
  if (!text.ok()) return ReportFailure(kStatVerb.name, text.status());
  const auto counts = rmap::ParseCounts(*text, line.counts);
  if (!counts.ok()) return ReportFailure(kStatVerb.name, counts.status());
  return PrintData(
      kStatVerb.name,
      line.perfex
          ? rmap::PerfexText(*table, *counts)
          : rmap::CostsText(*table, *counts, base::OutputWidth(STDOUT_FILENO),
                            UseColor("auto")));
}

}  // namespace countrace::cli
