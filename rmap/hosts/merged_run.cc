#include "rmap/hosts/merged_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "rmap/columns/report_tables.h"
#include "rmap/hosts/host_clock.h"
#include "rmap/hosts/merged_report.h"

namespace countrace::rmap {
namespace {

void NameRows(const std::string& host, Report& report) {
  ForEachTable([&](const auto& table) {
    for (auto& row : report.*table.rows) {
      if constexpr (requires { row.comm; }) row.comm = host + "/" + row.comm;
    }
  });
}

bool IsInBooks(const Report& report, const std::string& event) {
  const auto index = EventIndex(report.events, event);
  return index && *index < report.books.size() && report.books[*index].known;
}

}  // namespace

Report MergeRun(std::vector<std::pair<std::string, Report>> hosts) {
  const auto all_have = [&](const auto& has) {
    return std::ranges::all_of(
        hosts, [&](const auto& host) { return has(host.second); });
  };
  std::set<std::string> counted, in_books;
  for (const EventColumn& column : hosts[0].second.events) {
    const std::string& event = column.name;
    if (all_have([&](const Report& report) {
          return EventIndex(report.events, event).has_value();
        })) {
      counted.insert(event);
    }
    if (all_have(
            [&](const Report& report) { return IsInBooks(report, event); })) {
      in_books.insert(event);
    }
  }
  const bool kernel =
      all_have([](const Report& report) { return !report.cpu_rows.empty(); });

  std::vector<HostReport> parts;
  for (auto& [name, report] : hosts) {
    NameRows(name, report);
    const std::uint64_t begin_ns = report.begin_ns;
    parts.push_back({name,
                     HostClock("its begin", begin_ns,
                               -static_cast<std::int64_t>(begin_ns), {}, {}),
                     std::move(report)});
  }
  Report all = MergeReports(std::move(parts), [&](const std::string& event) {
    return counted.contains(event);
  });
  for (std::size_t i = 0; i < all.books.size(); ++i) {
    all.books[i].known &= in_books.contains(all.events[i].name);
  }
  if (!kernel) all.cpu_rows.clear();
  return all;
}

}  // namespace countrace::rmap
