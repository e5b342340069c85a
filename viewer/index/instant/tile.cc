#include "viewer/index/instant/tile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/index/file/interval_summary.h"
#include "viewer/index/rows/counter_row.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/index/rows/point_row.h"
#include "viewer/index/rows/thread_run.h"
#include "viewer/index/rows/thread_states.h"

namespace countrace::viewer {
namespace {

template <typename T>
std::string Encode(TileHeader header, const std::vector<T>& entries) {
  header.bytes =
      static_cast<std::uint32_t>(sizeof(header) + entries.size() * sizeof(T));
  std::string tile(header.bytes, '\0');
  std::memcpy(tile.data(), &header, sizeof(header));
  if (!entries.empty()) {
    std::memcpy(tile.data() + sizeof(header), entries.data(),
                entries.size() * sizeof(T));
  }
  return tile;
}

class TileBuilder {
 public:
  TileBuilder(const TimelineIndex& index, const TileKey& key,
              std::uint32_t generation)
      : index_(index),
        begin_ns_(key.index * kTileColumns << key.level),
        column_ns_(std::uint64_t{1} << key.level) {
    std::memcpy(header_.magic, "PVT3", 4);
    header_.level = static_cast<std::uint8_t>(key.level);
    header_.row = key.row;
    header_.begin_ns = static_cast<double>(begin_ns_);
    header_.column_ns = static_cast<double>(column_ns_);
    header_.generation = generation;
    header_.index = key.index;
  }

  // Who has a CPU.
  std::string Shares(std::uint32_t number) {
    const IntervalRow row(index_, number);
    const std::uint64_t first = row.FirstNotOver(begin_ns_);
    if (row.FirstBeginning(end_ns(), first) - first <= kMaxTileItems) {
      return Intervals(number);
    }
    const InterruptRows interrupts(index_);
    std::vector<SharesColumn> columns(kTileColumns);
    std::uint64_t hint = first;
    for (std::uint32_t i = 0; i < kTileColumns; ++i) {
      SharesColumn& column = columns[i];
      std::fill_n(column.keys, kSketchEntries, kNoKey);
      const TimeRange range = Inside(i);
      if (range.begin_ns >= range.end_ns) continue;
      column = SharesOf(row.Summary(range, &hint), range);
      column.interrupts =
          ShareOf(interrupts.TimeIn(row.entry().owner, range), range);
    }
    return Columns(TileKind::kShares, columns);
  }

  // Who has the CPUs, all together.
  std::string Machine() {
    std::vector<IntervalRow> rows;
    for (std::uint32_t i = 0; i < index_.rows().size(); ++i) {
      if (index_.rows()[i].kind == RowKind::kCpu) rows.emplace_back(index_, i);
    }
    const InterruptRows interrupts(index_);
    std::vector<SharesColumn> columns(kTileColumns);
    std::vector<std::uint64_t> hints(rows.size());
    for (std::uint32_t i = 0; i < kTileColumns; ++i) {
      SharesColumn& column = columns[i];
      std::fill_n(column.keys, kSketchEntries, kNoKey);
      const TimeRange range = Inside(i);
      if (range.begin_ns >= range.end_ns || rows.empty()) continue;
      IntervalNode sum = EmptyNode();
      std::uint64_t interrupts_ns = 0;
      for (std::size_t cpu = 0; cpu < rows.size(); ++cpu) {
        sum = MergeNodes(sum, rows[cpu].Summary(range, &hints[cpu]));
        interrupts_ns += interrupts.TimeIn(rows[cpu].entry().owner, range);
      }
      // As one row of the length of all.
      const TimeRange all{0, rows.size() * (range.end_ns - range.begin_ns)};
      column = SharesOf(sum, all);
      column.interrupts = ShareOf(interrupts_ns, all);
    }
    return Columns(TileKind::kShares, columns);
  }

  // What the threads of a process do.
  std::string Threads(std::uint32_t process) {
    std::vector<double> running(kTileColumns), waiting(kTileColumns);
    std::vector<ThreadsColumn> columns(kTileColumns);
    for (std::uint32_t i = 0; i < index_.rows().size(); ++i) {
      const RowEntry& entry = index_.rows()[i];
      const bool run = entry.kind == RowKind::kThreadRun;
      if (!run && entry.kind != RowKind::kThreadWait) continue;
      if (index_.ProcessOf(entry.owner) != process) continue;
      AddTimes(IntervalRow(index_, i), run ? running : waiting,
               run ? &columns : nullptr);
    }
    for (std::uint32_t i = 0; i < kTileColumns; ++i) {
      const TimeRange range = Inside(i);
      if (range.begin_ns >= range.end_ns) break;
      const auto width = static_cast<double>(range.end_ns - range.begin_ns);
      columns[i].running = static_cast<float>(running[i] / width);
      columns[i].waiting = static_cast<float>(waiting[i] / width);
    }
    return Columns(TileKind::kThreads, columns);
  }

  // What a thread does.
  std::string States(std::uint32_t number) {
    const InterruptRows interrupts(index_);
    const ThreadStates states(index_, number, interrupts);
    const IntervalRow& row = states.dispatches();
    const std::uint64_t first = row.FirstNotOver(begin_ns_);
    if (row.FirstBeginning(end_ns(), first) - first <= kMaxTileItems) {
      const std::vector<ThreadStretch> stretches =
          states.Stretches({begin_ns_, end_ns()});
      std::vector<TileItem> items;
      for (const ThreadStretch& stretch : stretches) {
        items.push_back(
            {.begin_ns = static_cast<double>(stretch.range.begin_ns),
             .end_ns = static_cast<double>(stretch.range.end_ns),
             .key = stretch.key,
             .flags = stretch.flags,
             .count = 1,
             .leaf = stretch.leaf});
      }
      // Waits without a dispatch have no limit of their own.
      if (items.size() <= kMaxStateItems) return Items(items);
    }
    std::vector<StatesColumn> columns(kTileColumns);
    std::uint64_t hint = first;
    for (std::uint32_t i = 0; i < kTileColumns; ++i) {
      StatesColumn& column = columns[i];
      column.key = kNoKey;
      const TimeRange range = Inside(i);
      if (range.begin_ns >= range.end_ns) continue;
      const IntervalNode node = row.Summary(range, &hint);
      const StateTimes times = states.In(range);
      column.key = SketchTop(node.sketch);
      column.count = static_cast<std::uint16_t>(
          std::min<std::uint32_t>(node.count, 0xffff));
      if (node.count > 1) column.flags = kColumnMerged;
      column.running = ShareOf(times.running_ns, range);
      if (node.count > 0 && column.running == 0) column.running = 1;
      column.waiting = ShareOf(times.waiting_ns, range);
      column.blocked = ShareOf(times.blocked_ns, range);
      column.unknown = ShareOf(times.unknown_ns, range);
    }
    return Columns(TileKind::kStates, columns);
  }

  std::string Intervals(std::uint32_t number) {
    const IntervalRow row(index_, number);
    const std::uint64_t first = row.FirstNotOver(begin_ns_);
    const std::uint64_t last = row.FirstBeginning(end_ns(), first);
    if (last - first <= kMaxTileItems) {
      std::vector<TileItem> items;
      for (std::uint64_t i = first; i < last; ++i) {
        const IntervalLeaf leaf = row.leaf(i);
        items.push_back({.begin_ns = static_cast<double>(leaf.begin_ns),
                         .end_ns = static_cast<double>(leaf.end_ns),
                         .key = leaf.key,
                         .flags = leaf.flags,
                         .count = 1,
                         .leaf = static_cast<std::uint32_t>(i)});
      }
      return Items(items);
    }
    std::vector<StripColumn> columns(kTileColumns);
    std::uint64_t hint = first, begun = first;
    for (std::uint32_t i = 0; i < kTileColumns; ++i) {
      const TimeRange range = Column(i);
      columns[i].key = kNoKey;
      if (range.begin_ns >= index_.duration_ns()) continue;
      // Columns after the end of the trace are empty, not gaps.
      const std::uint64_t width_ns =
          std::min(range.end_ns, index_.duration_ns()) - range.begin_ns;
      columns[i] = ColumnOf(row.Summary(range, &hint), width_ns);
      // Those that begin in it: counts of columns add up.
      const std::uint64_t from = row.FirstBeginning(range.begin_ns, begun);
      begun = row.FirstBeginning(range.end_ns, from);
      columns[i].count = static_cast<std::uint16_t>(
          std::min<std::uint64_t>(begun - from, 0xffff));
    }
    return Columns(TileKind::kStrip, columns);
  }

  std::string Points(std::uint32_t number) {
    const PointRow row(index_, number);
    const std::uint64_t first = row.FirstAt(begin_ns_);
    const std::uint64_t last = row.FirstAt(end_ns(), first);
    if (last - first <= kMaxTileItems) {
      std::vector<TileItem> items;
      for (std::uint64_t i = first; i < last; ++i) {
        const auto time_ns = static_cast<double>(row.Time(i));
        items.push_back({.begin_ns = time_ns,
                         .end_ns = time_ns,
                         .key = row.Key(i),
                         .flags = 0,
                         .count = 1,
                         .leaf = static_cast<std::uint32_t>(i)});
      }
      return Items(items);
    }
    std::vector<StripColumn> columns(kTileColumns);
    std::uint64_t at = first;
    for (std::uint32_t i = 0; i < kTileColumns; ++i) {
      const std::uint64_t next = row.FirstAt(Column(i).end_ns, at);
      const std::uint64_t count = next - at;
      columns[i].key = count == 0 ? kNoKey : row.Key(at);
      columns[i].count =
          static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffff));
      columns[i].coverage = static_cast<std::uint8_t>(
          std::min(255.0, 16.0 * std::log2(1.0 + static_cast<double>(count))));
      if (count > 1) columns[i].flags = kColumnMerged;
      at = next;
    }
    return Columns(TileKind::kDensity, columns);
  }

  // `cpu_plus_one` 0: sum over all CPUs.
  std::string Counter(std::uint32_t event, std::uint32_t cpu_plus_one) {
    struct Source {
      CounterRow row;
      std::uint64_t value_hint = 0, rate_hint = 0;
      CounterRow::Value last;
    };
    std::vector<Source> sources;
    for (std::uint32_t number = 0; number < index_.rows().size(); ++number) {
      const RowEntry& entry = index_.rows()[number];
      if (entry.kind != RowKind::kCounter) continue;
      if (cpu_plus_one != 0 && entry.owner + 1 != cpu_plus_one) continue;
      sources.push_back({.row = CounterRow(index_, number), .last = {}});
      sources.back().last = sources.back().row.Before(begin_ns_, event);
    }
    std::vector<CounterColumn> columns(
        kTileColumns, CounterColumn{0, 0, 0, 0, 0, kCounterEmpty});
    const double per_second = 1e9;
    for (std::uint32_t i = 0; i < kTileColumns; ++i) {
      TimeRange range = Column(i);
      if (range.begin_ns >= index_.duration_ns()) break;
      range.end_ns = std::min(range.end_ns, index_.duration_ns());
      double count = 0, lo = 0, hi = 0;
      double min = 0;
      double max = 0;
      std::uint32_t flags =
          sources.size() > 1 ? std::uint32_t{kCounterBounded} : 0;
      bool known = false;
      for (Source& source : sources) {
        const CounterRow::Value end =
            source.row.Before(range.end_ns, event, &source.value_hint);
        const CounterRow::Rates rates =
            source.row.RatesIn(range, event, &source.rate_hint);
        count += end.count - source.last.count;
        // Inside a gap only its begin is known.
        lo += std::max(0.0, end.lo - std::max(source.last.lo, source.last.hi));
        hi += rates.unknown ? std::numeric_limits<double>::infinity()
                            : end.hi - source.last.lo;
        source.last = end;
        if (rates.gap) flags |= kCounterGap;
        if (!rates.known) continue;
        known = true;
        min += rates.min;
        max += rates.max;
      }
      if (!known) flags |= kCounterEmpty;
      const double width = static_cast<double>(range.end_ns - range.begin_ns);
      columns[i] = {.min = static_cast<float>(min * per_second),
                    .max = static_cast<float>(max * per_second),
                    .mean = static_cast<float>(count / width * per_second),
                    .lo = static_cast<float>(lo / width * per_second),
                    .hi = static_cast<float>(hi / width * per_second),
                    .flags = flags};
    }
    header_.kind = TileKind::kCounter;
    header_.columns = kTileColumns;
    return Encode(header_, columns);
  }

 private:
  std::uint64_t end_ns() const { return begin_ns_ + kTileColumns * column_ns_; }
  TimeRange Column(std::uint32_t i) const {
    return {begin_ns_ + i * column_ns_, begin_ns_ + (i + 1) * column_ns_};
  }
  // Adds the wall time of a row in each column, and to `begins` how many of its
  // leaves begin there.
  void AddTimes(const IntervalRow& row, std::vector<double>& times,
                std::vector<ThreadsColumn>* begins) const {
    const std::uint64_t first = row.FirstNotOver(begin_ns_);
    const std::uint64_t last = row.FirstBeginning(end_ns(), first);
    if (first == last) return;
    if (last - first > 2 * std::uint64_t{kTileColumns}) {
      std::uint64_t before_ns = row.Before(begin_ns_, 0).value;
      std::uint64_t begun = row.FirstBeginning(begin_ns_, first);
      for (std::uint32_t i = 0; i < kTileColumns; ++i) {
        const std::uint64_t until_ns = row.Before(Column(i).end_ns, 0).value;
        times[i] += static_cast<double>(until_ns - before_ns);
        before_ns = until_ns;
        if (begins == nullptr) continue;
        const std::uint64_t next = row.FirstBeginning(Column(i).end_ns, begun);
        (*begins)[i].dispatches += static_cast<float>(next - begun);
        begun = next;
      }
      return;
    }
    for (std::uint64_t number = first; number < last; ++number) {
      const IntervalLeaf leaf = row.leaf(number);
      std::uint64_t at_ns = std::max(leaf.begin_ns, begin_ns_);
      const std::uint64_t to_ns = std::min(leaf.end_ns, end_ns());
      std::uint64_t i = (at_ns - begin_ns_) >> header_.level;
      if (i >= kTileColumns) continue;  // a damaged index
      if (begins != nullptr && leaf.begin_ns >= begin_ns_) {
        ++(*begins)[i].dispatches;
      }
      for (; at_ns < to_ns; ++i) {
        const std::uint64_t next_ns =
            std::min(to_ns, Column(static_cast<std::uint32_t>(i)).end_ns);
        times[i] += static_cast<double>(next_ns - at_ns);
        at_ns = next_ns;
      }
    }
  }
  std::string Items(const std::vector<TileItem>& items) {
    header_.kind = TileKind::kItems;
    header_.items = static_cast<std::uint32_t>(items.size());
    return Encode(header_, items);
  }
  // Column i up to the end of the trace.
  TimeRange Inside(std::uint32_t i) const {
    TimeRange range = Column(i);
    range.end_ns = std::min(range.end_ns, index_.duration_ns());
    return range;
  }
  static std::uint8_t ShareOf(std::uint64_t part_ns, TimeRange range) {
    if (part_ns == 0) return 0;
    const double share = static_cast<double>(part_ns) /
                         static_cast<double>(range.end_ns - range.begin_ns);
    return static_cast<std::uint8_t>(
        std::clamp(share * 255.0 + 0.5, 1.0, 255.0));
  }
  static SharesColumn SharesOf(const IntervalNode& node, TimeRange range) {
    SharesColumn column{};
    const StripColumn strip = ColumnOf(node, range.end_ns - range.begin_ns);
    column.count = strip.count;
    column.flags = strip.flags;
    SketchEntry entries[kSketchEntries];
    std::copy_n(node.sketch, kSketchEntries, entries);
    std::sort(entries, entries + kSketchEntries,
              [](const SketchEntry& a, const SketchEntry& b) {
                return a.share_ns > b.share_ns ||
                       (a.share_ns == b.share_ns && a.key < b.key);
              });
    std::uint64_t rest_ns = node.busy_ns;
    for (std::size_t i = 0; i < kSketchEntries; ++i) {
      column.keys[i] = entries[i].share_ns > 0 ? entries[i].key : kNoKey;
      if (entries[i].share_ns <= 0) continue;
      const auto share_ns = static_cast<std::uint64_t>(entries[i].share_ns);
      column.shares[i] = std::max<std::uint8_t>(ShareOf(share_ns, range), 1);
      rest_ns -= std::min(rest_ns, share_ns);
    }
    column.other = ShareOf(rest_ns, range);
    column.idle = ShareOf(node.idle_ns, range);
    column.outside = ShareOf(node.outside_ns, range);
    return column;
  }
  template <typename T>
  std::string Columns(TileKind kind, const std::vector<T>& columns) {
    header_.kind = kind;
    header_.columns = kTileColumns;
    return Encode(header_, columns);
  }

  const TimelineIndex& index_;
  std::uint64_t begin_ns_, column_ns_;
  TileHeader header_{};
};

}  // namespace

std::uint32_t CounterRowNumber(const TimelineIndex& index, std::uint32_t event,
                               std::uint32_t cpu_plus_one) {
  return static_cast<std::uint32_t>(index.rows().size()) +
         event * (index.header().cpus + 1) + cpu_plus_one;
}

std::uint32_t MachineRowNumber(const TimelineIndex& index) {
  return CounterRowNumber(index, index.header().events, 0);
}

std::uint32_t RowNumbers(const TimelineIndex& index) {
  return MachineRowNumber(index) + 1 +
         static_cast<std::uint32_t>(index.processes().size());
}

absl::StatusOr<std::string> BuildTile(const TimelineIndex& index,
                                      const TileKey& key,
                                      std::uint32_t generation) {
  // The last tile must end below 2^63.
  if (key.level > kMaxLevel ||
      key.index >= (std::uint64_t{1} << (kMaxLevel - key.level))) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "No such tile: row=%d, level=%d, index=%d, max-level=%d", key.row,
        key.level, key.index, kMaxLevel));
  }
  TileBuilder builder(index, key, generation);
  if (key.row >= index.rows().size()) {
    if (key.row >= RowNumbers(index)) {
      return absl::NotFoundError(absl::StrFormat("No such row: row=%d, rows=%d",
                                                 key.row, RowNumbers(index)));
    }
    const std::uint32_t machine = MachineRowNumber(index);
    if (key.row == machine) return builder.Machine();
    if (key.row > machine) return builder.Threads(key.row - machine - 1);
    const std::uint32_t number =
        key.row - static_cast<std::uint32_t>(index.rows().size());
    return builder.Counter(number / (index.header().cpus + 1),
                           number % (index.header().cpus + 1));
  }
  switch (index.rows()[key.row].kind) {
    case RowKind::kHook:
      return builder.Points(key.row);
    case RowKind::kCounter:
      return absl::NotFoundError(
          absl::StrFormat("Row is drawn through its event: row=%d", key.row));
    case RowKind::kFault:
      return absl::NotFoundError(
          absl::StrFormat("Row is not drawn: row=%d", key.row));
    case RowKind::kCpu:
      return builder.Shares(key.row);
    case RowKind::kThreadRun:
      return builder.States(key.row);
    default:
      return builder.Intervals(key.row);
  }
}

}  // namespace countrace::viewer
