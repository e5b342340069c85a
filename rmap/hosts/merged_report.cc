#include "rmap/hosts/merged_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "rmap/columns/report_tables.h"
#include "rmap/hosts/merged_books.h"

namespace countrace::rmap {
namespace {

ReportHost HostOf(const HostReport& part) {
  const Report& report = part.report;
  const auto signed_ns = [&](std::uint64_t own) {
    return static_cast<std::int64_t>(part.clock.Common(own) - own);
  };
  return {
      .name = part.name,
      .path = report.path,
      .clock = part.clock.how(),
      .offset_ns = signed_ns(report.begin_ns),
      .drift_ppb = std::llround(part.clock.drift() * 1e9),
      .least_drift_ppb =
          static_cast<std::int64_t>(std::floor(part.clock.least_drift() * 1e9)),
      .most_drift_ppb =
          static_cast<std::int64_t>(std::ceil(part.clock.most_drift() * 1e9)),
      .within_ns = std::max(part.clock.WithinNs(report.begin_ns),
                            part.clock.WithinNs(report.end_ns)),
      .begin_ns = part.clock.Common(report.begin_ns),
      .end_ns = part.clock.Common(report.end_ns),
      .cpus = report.cpus,
      .records = report.records,
      .loss = report.loss};
}

// Adds the rows of one host to those of the others, with the events that are
// `wanted`.
class RowMerge {
 public:
  RowMerge(const HostReport& part, const WantedEvents& wanted, Report& all)
      : part_(part),
        first_process_(FirstFree(all.processes)),
        first_thread_(FirstFree(all.threads)),
        all_(all) {
    for (const EventColumn& event : part.report.events) {
      if (!wanted(event.name)) {
        places_.push_back(kNoEvent);
        continue;
      }
      const auto at = EventIndex(all.events, event.name);
      places_.push_back(at.value_or(all.events.size()));
      if (!at) all.events.push_back(event);
      EventColumn& column = all.events[places_.back()];
      column.scaled |= event.scaled;
      if (column.segment_source == SegmentSource::kNone) {
        column.segment_source = event.segment_source;
      }
    }
  }

  const std::vector<std::size_t>& event_places() const { return places_; }

  template <typename Row>
  void Add(std::vector<Row>& rows, std::vector<Row>& sums) {
    for (Row& row : rows) {
      row.host = part_.name;
      if constexpr (std::is_same_v<Row, ProcessRow>) {
        Move(first_process_, row.index);
      } else if constexpr (requires { row.process; }) {
        Move(first_process_, row.process);
      }
      if constexpr (std::is_same_v<Row, ThreadRow>) {
        Move(first_thread_, row.index);
      }
      if constexpr (requires { row.first_seen_ns; }) {
        row.first_seen_ns = part_.clock.Common(row.first_seen_ns);
        row.last_seen_ns = part_.clock.Common(row.last_seen_ns);
      }
      if constexpr (requires { row.counts; }) Place(row.counts);
      if constexpr (requires { row.scaled; }) Place(row.scaled);
      if constexpr (requires { row.bounds; }) Place(row.bounds);
      sums.push_back(std::move(row));
    }
  }

 private:
  template <typename Row>
  static std::uint32_t FirstFree(const std::vector<Row>& rows) {
    std::uint32_t first = 0;
    for (const Row& row : rows) {
      first = std::max(first, static_cast<std::uint32_t>(row.index) + 1);
    }
    return first;
  }
  template <typename Index>
  static void Move(std::uint32_t by, Index& index) {
    index = static_cast<Index>(static_cast<std::uint32_t>(index) + by);
  }

  template <typename Count>
  void Place(std::vector<Count>& counts) const {
    if (counts.empty()) return;
    std::vector<Count> placed(all_.events.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (places_[i] == kNoEvent) continue;
      placed[places_[i]] = std::move(counts[i]);
    }
    counts = std::move(placed);
  }

  void Place(RowBounds& bounds) const {
    RowBounds placed;
    for (const auto& [number, interval] : bounds.entries()) {
      Number there = number;
      if (number >= Number::kCounts) {
        const std::size_t count = static_cast<std::size_t>(number) -
                                  static_cast<std::size_t>(Number::kCounts);
        if (places_[count / 3] == kNoEvent) continue;
        there =
            CountNumber(places_[count / 3], static_cast<CountPart>(count % 3));
      }
      // Any other number than both limits keeps the interval.
      placed.Set(there, interval.lo + 1, interval);
    }
    bounds = std::move(placed);
  }

  const HostReport& part_;
  const std::uint32_t first_process_, first_thread_;
  Report& all_;
  std::vector<std::size_t> places_;  // of the host's events among all
};

// What the order of rows is by: the largest first.
template <typename Row>
class RowOrder {
 public:
  using Key = std::vector<std::uint64_t>;

  RowOrder(const Table<Row>& table, const Report& report,
           const std::vector<Row>& rows)
      : by_path_(table.by == ReportBy::kPath), columns_(table.columns(report)) {
    std::vector<const char*> names = table.order;
    if (names.empty()) names.push_back(table.sum);
    for (const std::string_view name : names) {
      for (const Column<Row>& column : columns_) {
        if (FullName(column) == name) order_.push_back(&column);
      }
    }
    if constexpr (std::is_same_v<Row, SegmentRow>) {
      for (const Row& row : rows) {
        if (row.path.size() != 1) continue;
        of_process_[row.process] +=
            row.on_cpu ? row.on_cpu->incl : row.wall.incl;
      }
    }
  }

  Key Of(const Row& row) const {
    if constexpr (std::is_same_v<Row, SegmentRow>) {
      // The call paths of a process stay together.
      const auto found = of_process_.find(row.process);
      if (by_path_) return {found == of_process_.end() ? 0 : found->second};
    }
    Key key;
    for (const Column<Row>* column : order_) {
      const Cell cell = column->value(row);
      const auto* number = std::get_if<std::uint64_t>(&cell);
      key.push_back(number == nullptr ? 0 : *number);
    }
    return key;
  }

 private:
  const bool by_path_;
  const std::vector<Column<Row>> columns_;
  std::vector<const Column<Row>*> order_;
  std::map<ProcessIndex, std::uint64_t> of_process_;
};

// Merges the rows of the hosts, which follow each other: those of a host stay
// in their order. CPUs stay by host.
template <typename Row>
void Merge(const Table<Row>& table, const Report& report,
           std::vector<Row>& rows) {
  if (table.by == ReportBy::kCpu) return;
  const RowOrder<Row> order(table, report, rows);
  std::vector<std::pair<std::size_t, std::size_t>> hosts;  // next, end
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].host.Read() != rows[i - 1].host.Read()) {
      hosts.emplace_back(i, i);
    }
    hosts.back().second = i + 1;
  }
  std::vector<typename RowOrder<Row>::Key> keys;
  for (const auto& [next, end] : hosts) keys.push_back(order.Of(rows[next]));
  std::vector<Row> merged;
  merged.reserve(rows.size());
  while (merged.size() < rows.size()) {
    std::size_t best = hosts.size();
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (hosts[i].first == hosts[i].second) continue;
      if (best == hosts.size() || keys[i] > keys[best]) best = i;
    }
    auto& [next, end] = hosts[best];
    bool same_tree = true;
    while (next != end && same_tree) {
      merged.push_back(std::move(rows[next++]));
      same_tree = false;
      if constexpr (std::is_same_v<Row, SegmentRow>) {
        same_tree = table.by == ReportBy::kPath && next != end &&
                    rows[next].process == merged.back().process;
      }
    }
    if (next != end) keys[best] = order.Of(rows[next]);
  }
  rows = std::move(merged);
}

// What all say, or `otherwise`.
std::string Shared(const std::vector<HostReport>& hosts,
                   std::string Report::*text, const char* otherwise) {
  const std::string& first = hosts[0].report.*text;
  const bool same = std::ranges::all_of(hosts, [&](const HostReport& host) {
    return host.report.*text == first;
  });
  return same ? first : otherwise;
}

void AddFacts(HostReport& part, Report& all) {
  Report& of = part.report;
  const ReportHost& host = all.hosts.emplace_back(HostOf(part));
  const bool first = all.hosts.size() == 1;
  all.begin_ns = first ? host.begin_ns : std::min(all.begin_ns, host.begin_ns);
  all.end_ns = std::max(all.end_ns, host.end_ns);
  all.cpus += of.cpus;
  all.records += of.records;
  all.of_range |= of.of_range;
  all.finished &= of.finished;
  all.interrupted |= of.interrupted;
  for (bool Report::*flag :
       {&Report::owners, &Report::wakeups, &Report::throttled,
        &Report::system_calls, &Report::block_points, &Report::interrupts,
        &Report::file_values, &Report::fault_records, &Report::has_levels}) {
    all.*flag |= of.*flag;
  }
  for (logformat::TriggerFiring& trigger : of.triggers) {
    trigger.time_ns = part.clock.Common(trigger.time_ns);
    all.triggers.push_back(std::move(trigger));
  }
  for (const std::string& mark : of.marks) {
    if (std::ranges::count(all.marks, mark) == 0) all.marks.push_back(mark);
  }
  for (const std::string& what : of.not_known) {
    all.not_known.push_back(part.name + ": " + what);
  }
  all.value_names.merge(of.value_names);
  AddLoss(part.name, of.loss, all.loss);
  all.own_cost.bpf_ns += of.own_cost.bpf_ns;
  all.own_cost.bpf_sampled_ns += of.own_cost.bpf_sampled_ns;
  all.own_cost.hook_records += of.own_cost.hook_records;
  all.own_cost.hook_dumps += of.own_cost.hook_dumps;
  all.hidden_switches += of.hidden_switches;
  all.late_sub_buffers += of.late_sub_buffers;
}

}  // namespace

Report MergeReports(std::vector<HostReport> hosts, const WantedEvents& wanted) {
  Report all;
  for (const HostReport& host : hosts) {
    all.path +=
        (all.path.empty() ? "" : " ") + host.name + "=" + host.report.path;
  }
  all.scope = Shared(hosts, &Report::scope, "mixed");
  all.count = Shared(hosts, &Report::count, "mixed");
  all.command = Shared(hosts, &Report::command, "");
  all.hostname = Shared(hosts, &Report::hostname, "");
  all.kernel_release = Shared(hosts, &Report::kernel_release, "");
  all.source = Shared(hosts, &Report::source, "");
  all.wanted = hosts[0].report.wanted;
  for (HostReport& host : hosts) {
    RowMerge merge(host, wanted, all);
    ForEachTable([&](const auto& table) {
      merge.Add(host.report.*table.rows, all.*table.rows);
    });
    AddBooks(host.report, merge.event_places(), all);
    AddFacts(host, all);
  }
  ForEachTable([&](const auto& table) { Merge(table, all, all.*table.rows); });
  return all;
}

}  // namespace countrace::rmap
