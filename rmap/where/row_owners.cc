#include "rmap/where/row_owners.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/glob.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap::where {

std::string OwnerGlobs::Text() const {
  std::vector<std::string> parts;
  if (!process.empty()) parts.push_back("--process " + process);
  if (!thread.empty()) parts.push_back("--thread " + thread);
  return absl::StrJoin(parts, " ");
}

absl::Status CheckOwners(const OwnerGlobs& globs, ReportBy table) {
  const OwnerFilter filter(globs, Report());
  std::string missing;
  std::vector<std::string> able;
  ForEachTable([&](const auto& one) {
    using Row = typename std::decay_t<decltype(one)>::Row;
    const std::string lacks = filter.MissingIn<Row>();
    if (lacks.empty()) able.emplace_back(one.option);
    if (one.by == table) missing = lacks;
  });
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("--%s: rows of %s have none; --by %s have", missing,
                      TableName(table), absl::StrJoin(able, ", ")));
}

OwnerFilter::OwnerFilter(OwnerGlobs globs, const Report& report)
    : globs_(std::move(globs)) {
  if (globs_.process.empty()) return;
  for (const ProcessRow& row : report.processes) {
    if (Matches(globs_.process, row.comm, row.pid)) {
      processes_.insert(row.index);
    }
  }
}

bool OwnerFilter::Matches(const std::string& glob, const std::string& name,
                          std::int32_t number) {
  return base::GlobMatches(glob.c_str(), name.c_str()) ||
         glob == std::to_string(number);
}

}  // namespace countrace::rmap::where
