#include "cli/stat/stat_thread_times.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "cli/program/row_table.h"

namespace countrace::cli {
namespace {

using nlohmann::ordered_json;
using rmap::StatNumber;
using rmap::ThreadRow;

std::string Time(std::uint64_t ns) {
  return base::FormatNanoseconds(static_cast<double>(ns));
}

std::string PartText(const StatNumber& part) {
  return absl::StrFormat("~%s [%s, %s]", Time(part.value),
                         Time(part.bounds->lo), Time(part.bounds->hi));
}

}  // namespace

std::vector<ThreadSplit> SplitThreads(
    const rmap::Report& report,
    const std::vector<runtime::ThreadTimes>& times) {
  // Numbers of threads are used again: the last that began before a row ends.
  std::map<std::pair<std::int32_t, std::uint64_t>, const runtime::ThreadTimes*>
      by_start;
  for (const runtime::ThreadTimes& one : times) {
    by_start[{one.tid, one.start_ns}] = &one;
  }
  std::vector<ThreadSplit> splits;
  for (std::size_t i = 0; i < report.threads.size(); ++i) {
    const ThreadRow& row = report.threads[i];
    const std::uint64_t on_cpu = row.on_cpu_ns.value_or(0);
    auto found = by_start.upper_bound({row.tid, row.last_seen_ns});
    if (on_cpu == 0 || found == by_start.begin()) continue;
    --found;
    if (found->first.first != row.tid) continue;
    const CpuTimes ticks{found->second->user_ns, found->second->system_ns};
    splits.push_back(
        {i, ticks,
         rmap::UserAndSystem(ticks.user_ns, ticks.system_ns, on_cpu)});
  }
  std::stable_sort(splits.begin(), splits.end(),
                   [&](const ThreadSplit& a, const ThreadSplit& b) {
                     return *report.threads[a.row].on_cpu_ns >
                            *report.threads[b.row].on_cpu_ns;
                   });
  return splits;
}

CpuTimes TimesOfThreads(const rmap::Report& report,
                        const std::vector<ThreadSplit>& splits) {
  CpuTimes times, ticks;
  std::uint64_t short_ns = 0;
  const auto add = [&times](const std::vector<StatNumber>& parts) {
    if (parts.empty()) return;
    times.user_ns += parts[0].value;
    times.system_ns += parts[1].value;
  };
  for (const ThreadSplit& split : splits) {
    const std::uint64_t on_cpu = *report.threads[split.row].on_cpu_ns;
    if (on_cpu >= 100'000'000) {
      add(split.parts);
      continue;
    }
    // It has a tick, or more often none: by its own it would count too much, or
    // not at all.
    short_ns += on_cpu;
    ticks.user_ns += split.ticks.user_ns;
    ticks.system_ns += split.ticks.system_ns;
  }
  add(rmap::UserAndSystem(ticks.user_ns, ticks.system_ns, short_ns));
  return times;
}

std::string ThreadSplitText(const rmap::Report& report,
                            const std::vector<ThreadSplit>& splits,
                            std::size_t rows) {
  if (splits.empty()) return "";
  RowTable table("", "", {"tid", "pid", "on-CPU", "user", "system", "command"});
  const std::size_t shown =
      rows == 0 ? splits.size() : std::min(rows, splits.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ThreadRow& row = report.threads[splits[i].row];
    std::vector<Cell> cells = {std::to_string(row.tid), std::to_string(row.pid),
                               Time(*row.on_cpu_ns)};
    for (const std::size_t part : {0u, 1u}) {
      if (splits[i].parts.empty()) {
        cells.emplace_back(std::monostate());
      } else {
        cells.emplace_back(PartText(splits[i].parts[part]));
      }
    }
    cells.emplace_back(row.comm);
    table.Add(std::move(cells));
  }
  std::string text = "\nUSER AND SYSTEM TIME OF THREADS\n";
  text += table.Render("text");
  if (shown < splits.size()) {
    absl::StrAppendFormat(&text, "%d more rows: --rows 0 shows all\n",
                          splits.size() - shown);
  }
  return text;
}

std::string WithThreadSplits(const std::string& report_json,
                             const rmap::Report& report,
                             const std::vector<ThreadSplit>& splits) {
  ordered_json json = ordered_json::parse(report_json, nullptr, false);
  if (!json.contains("threads")) return report_json;
  std::map<std::size_t, const ThreadSplit*> by_row;
  for (const ThreadSplit& split : splits) by_row[split.row] = &split;
  ordered_json& rows = json["threads"];
  // They are those of the report, in its order.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto split = by_row.find(i);
    if (split == by_row.end() || rows[i]["tid"] != report.threads[i].tid) {
      continue;
    }
    for (const StatNumber& part : split->second->parts) {
      rows[i][part.name + "_time"] = {{"value", part.value},
                                      {"lo", part.bounds->lo},
                                      {"hi", part.bounds->hi},
                                      {"standard_error", *part.standard_error}};
    }
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace countrace::cli
