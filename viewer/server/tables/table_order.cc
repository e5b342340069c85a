#include "viewer/server/tables/table_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/quantity_parse.h"

namespace countrace::viewer {
namespace {

// What a row is sorted by. Numbers are exact up to 2^53, as on the page.
struct Key {
  std::string_view text;
  double number = 0;
};
bool operator<(const Key& a, const Key& b) {
  return std::tie(a.text, a.number) < std::tie(b.text, b.number);
}

Key Of(std::uint64_t number) { return {{}, static_cast<double>(number)}; }

class Columns {
 public:
  Columns(const TimelineIndex& index, std::string_view column)
      : index_(index), column_(column) {
    for (const HookEntry& hook : index.hooks()) {
      hook_names_[hook.id] = index.Text(hook.name);
    }
    constexpr std::string_view kCount = "counts.";
    if (column.substr(0, kCount.size()) == kCount) {
      const auto event = base::ParseInteger(column.substr(kCount.size()));
      if (event && *event < index.header().events) event_ = *event;
    }
  }

  // Absent: the table has no such column.
  std::optional<Key> operator()(const ProcessTotals& row) const {
    if (column_ == "pid") {
      return Key{{}, static_cast<double>(Process(row.process).pid)};
    }
    if (const std::optional<Key> key = Run(row.run)) return key;
    return Names(row.process, std::nullopt);
  }
  std::optional<Key> operator()(const ThreadTotals& row) const {
    if (column_ == "wait_ns") return Of(row.wait_ns);
    if (column_ == "blocked_ns") return Of(row.blocked_ns.value_or(0));
    if (column_ == "tid") return Key{{}, static_cast<double>(Thread(row).tid)};
    if (column_ == "thread") {
      return Key{index_.Text(Thread(row).comm),
                 static_cast<double>(Thread(row).tid)};
    }
    if (const std::optional<Key> key = Run(row.run)) return key;
    return Names(Thread(row).process, std::nullopt);
  }
  std::optional<Key> operator()(const WaitRow& row) const {
    if (column_ == "ns") return Of(row.ns);
    if (column_ == "times") return Of(row.times);
    if (column_ == "longest_ns") return Of(row.longest_ns);
    return Names(row.process, row.call);
  }
  std::optional<Key> operator()(const SegmentTotals& row) const {
    if (column_ == "calls") return Of(row.calls);
    if (column_ == "wall_ns.incl") return Of(row.wall_incl_ns);
    if (column_ == "wall_ns.excl") return Of(row.wall_excl_ns);
    if (column_ == "on_cpu_ns.incl") return OnCpu(row, row.on_cpu_incl_ns);
    if (column_ == "on_cpu_ns.excl") return OnCpu(row, row.on_cpu_excl_ns);
    if (column_ == "wall_ns.mean") {
      return Key{{},
                 row.calls == 0 ? -1.0
                                : static_cast<double>(row.begun_ns) /
                                      static_cast<double>(row.calls)};
    }
    return Names(row.process, row.hook_id);
  }
  std::optional<Key> operator()(const HookTotals& row) const {
    if (column_ == "hits") return Of(row.hits);
    return Names(row.process, row.hook_id);
  }

 private:
  static Key OnCpu(const SegmentTotals& row, std::uint64_t ns) {
    return row.on_cpu_known ? Of(ns) : Key{{}, -1};
  }
  std::optional<Key> Run(const RunTotals& run) const {
    if (column_ == "on_cpu_ns") return Of(run.on_cpu_ns);
    if (column_ == "dispatches") return Of(run.dispatches);
    if (!event_) return std::nullopt;
    return Of(*event_ < run.counts.size() ? run.counts[*event_] : 0);
  }
  ThreadEntry Thread(const ThreadTotals& row) const {
    return row.thread < index_.threads().size() ? index_.threads()[row.thread]
                                                : ThreadEntry{};
  }
  ProcessEntry Process(std::uint32_t number) const {
    return number < index_.processes().size() ? index_.processes()[number]
                                              : ProcessEntry{};
  }
  std::optional<Key> Names(std::uint32_t process,
                           std::optional<std::uint32_t> hook) const {
    if (column_ == "process") {
      const ProcessEntry entry = Process(process);
      return Key{index_.Text(entry.comm), static_cast<double>(entry.pid)};
    }
    if (column_ != "hook" || !hook) return std::nullopt;
    const auto name = hook_names_.find(*hook);
    return Key{name == hook_names_.end() ? std::string_view() : name->second,
               0};
  }

  const TimelineIndex& index_;
  const std::string_view column_;
  std::optional<std::uint64_t> event_;
  std::map<std::uint32_t, std::string_view> hook_names_;
};

// Moves rows()[front[k]] to place k; what was there goes where they were.
template <typename Row>
void BringToFront(const std::vector<std::size_t>& front,
                  std::vector<Row>& rows) {
  std::vector<Row> first;
  std::vector<std::size_t> vacated;
  std::vector<bool> stays(front.size());
  for (const std::size_t from : front) {
    first.push_back(std::move(rows[from]));
    if (from >= front.size()) {
      vacated.push_back(from);
    } else {
      stays[from] = true;
    }
  }
  for (std::size_t at = 0; at < front.size(); ++at) {
    if (stays[at]) continue;
    rows[vacated.back()] = std::move(rows[at]);
    vacated.pop_back();
  }
  std::move(first.begin(), first.end(), rows.begin());
}

template <typename Row>
bool SortRows(const Columns& key_of, TableOrder order, std::vector<Row>& rows) {
  if (!key_of(Row{})) return false;
  std::vector<std::pair<Key, std::size_t>> keys;
  keys.reserve(rows.size());
  for (const Row& row : rows) keys.emplace_back(*key_of(row), keys.size());
  // Rows with equal values stay in their order.
  const auto before = [&](const auto& a, const auto& b) {
    const Key& first = order.descending ? b.first : a.first;
    const Key& second = order.descending ? a.first : b.first;
    if (first < second) return true;
    return !(second < first) && a.second < b.second;
  };
  const std::size_t wanted = std::min(order.rows, keys.size());
  const auto end = keys.begin() + static_cast<std::ptrdiff_t>(wanted);
  if (wanted < keys.size() / 8) {
    std::partial_sort(keys.begin(), end, keys.end(), before);
  } else {
    std::sort(keys.begin(), keys.end(), before);
  }
  std::vector<std::size_t> front;
  for (std::size_t k = 0; k < wanted; ++k) front.push_back(keys[k].second);
  BringToFront(front, rows);
  return true;
}

}  // namespace

bool SortTables(const TimelineIndex& index, TableOrder order,
                SortedTables& tables) {
  const Columns columns(index, order.column);
  const auto sort = [&](auto& rows) { return SortRows(columns, order, rows); };
  const bool processes = sort(tables.totals.processes);
  const bool segments = sort(tables.totals.segments);
  const bool hooks = sort(tables.totals.hooks);
  const bool threads = sort(tables.threads);
  const bool waits = sort(tables.waits);
  return processes || segments || hooks || threads || waits;
}

}  // namespace countrace::viewer
