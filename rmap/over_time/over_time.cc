#include "rmap/over_time/over_time.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/text/glob.h"
#include "rmap/counters/event_set_dumps.h"
#include "rmap/dispatch/interval_counts.h"
#include "rmap/result/limits.h"

namespace countrace::rmap {
namespace {

__extension__ typedef unsigned __int128 Wide;

bool Matches(const std::string& glob, const std::string& name) {
  return base::GlobMatches(glob.c_str(), name.c_str());
}

}  // namespace

std::uint64_t TimeSeries::EndOf(std::size_t interval) const {
  const std::uint64_t end = BeginOf(interval) + every_ns;
  return interval + 1 == size() ? std::min(end, std::max(end_ns, begin_ns))
                                : end;
}

std::uint64_t TimeSeries::TotalTime(std::size_t interval) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kAccounts; ++i) sum += cells_[Cell(interval, i)];
  return sum;
}

std::uint64_t TimeSeries::TotalCount(std::size_t interval,
                                     std::size_t event) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kAccounts; ++i) {
    sum += cells_[Cell(interval, i) + 1 + event];
  }
  return sum;
}

OverTime::OverTime(const logformat::TraceInfo& info, OverTimeOptions options)
    : options_(std::move(options)) {
  series_.every_ns = std::max<std::uint64_t>(options_.every_ns, 1);
  series_.cpus = info.cpus;
  series_.events = info.cpu_events;
  series_.events.resize(std::min(series_.events.size(), kMaxMeasures));
  const logformat::EventSets sets = info.cpu_sets();
  for (std::size_t event = 0; event < series_.events.size(); ++event) {
    if (sets.rotates() && sets.SetOf(event)) {
      series_.lower_bounds_.Add(event);
    }
  }
  series_.has_selected = options_.threads.has_value();
  series_.has_calls = options_.hooks.has_value();
  const std::vector<CounterKind> kinds = CounterKinds(series_.events);
  for (const CounterKind kind : kinds) {
    clocks_.push_back(kind == CounterKind::kClock);
  }
  instants_ = RecordedInstants(kinds);
  series_.of_command = info.scope == logformat::SessionScope::kCommand;
  series_.has_kernel_records =
      info.scope != logformat::SessionScope::kHooksOnly;
  for (const logformat::HookInfo& hook : info.hooks) {
    if (options_.hooks && options_.hooks->contains(hook.id)) {
      segments_.insert(hook.FullName());
    }
  }
  series_.selected_counts_.resize(series_.events.size());
  const std::uint64_t begin_ns =
      options_.begin_ns != 0 ? options_.begin_ns : info.begin_ns;
  if (begin_ns != 0) See(begin_ns);
}

void OverTime::See(std::uint64_t time_ns) {
  if (begun_) return;
  begun_ = true;
  series_.begin_ns = time_ns;
}

std::optional<std::size_t> OverTime::IntervalAt(std::uint64_t time_ns) {
  // Amounts before the begin belong to the first interval, so that none is
  // lost.
  const std::uint64_t number =
      time_ns <= series_.begin_ns
          ? 0
          : (time_ns - series_.begin_ns) / series_.every_ns;
  if (number >= kMaxIntervals) {
    too_many_ = true;
    return std::nullopt;
  }
  const auto interval = static_cast<std::size_t>(number);
  if (interval >= series_.size()) {
    const std::size_t size = interval + 1;
    series_.inferred_.resize(size);
    series_.cells_.resize(series_.Cell(size, 0), 0);
    series_.splits_.resize(series_.Cell(size, 0));
    if (series_.has_calls) series_.calls_.resize(size);
  }
  return interval;
}

template <typename Add>
void OverTime::Cut(std::uint64_t begin_ns, std::uint64_t end_ns, Add add) {
  if (options_.of_range) begin_ns = std::max(begin_ns, series_.begin_ns);
  end_ns = std::min(end_ns, options_.until_ns);
  while (begin_ns < end_ns && !too_many_) {
    const std::optional<std::size_t> interval = IntervalAt(begin_ns);
    if (!interval) return;
    const std::uint64_t part_end_ns =
        std::min(end_ns, series_.BeginOf(*interval) + series_.every_ns);
    add(*interval, begin_ns, part_end_ns);
    begin_ns = part_end_ns;
  }
}

void OverTime::OnTime(const AttributedTime& attributed) {
  See(attributed.begin_ns);
  const auto thread = static_cast<std::uint32_t>(attributed.thread);
  const bool selected = attributed.thread != kNoThread && options_.threads &&
                        options_.threads->contains(thread);
  const auto column = static_cast<std::size_t>(attributed.account);
  Cut(attributed.begin_ns, attributed.end_ns,
      [&](std::size_t interval, std::uint64_t from_ns, std::uint64_t to_ns) {
        series_.cells_[series_.Cell(interval, column)] += to_ns - from_ns;
        if (!selected) return;
        series_.cells_[series_.Cell(interval, kAccounts)] += to_ns - from_ns;
      });
  if (attributed.thread == kNoThread || inside_.empty()) return;
  const auto inside = inside_.find(thread);
  if (inside != inside_.end()) AttributeInside(inside->second, attributed);
}

void OverTime::OnCounts(const AttributedCount& attributed) {
  if (attributed.event >= series_.events.size())
    return;  // the running time of a set
  See(attributed.begin_ns);
  const std::vector<std::uint64_t> instants = instants_.Take(attributed);
  AddCount(attributed, instants, static_cast<std::size_t>(attributed.account));
  if (attributed.thread != kNoThread && options_.threads &&
      options_.threads->contains(
          static_cast<std::uint32_t>(attributed.thread))) {
    AddCount(attributed, instants, kAccounts);
  }
}

void OverTime::AddAt(std::uint64_t time_ns, std::size_t column,
                     std::size_t event, std::uint64_t count) {
  if (IsLeftOut(time_ns)) return;
  const auto at = IntervalAt(time_ns);
  if (at) series_.cells_[series_.Cell(*at, column) + 1 + event] += count;
}

void OverTime::AddCount(const AttributedCount& attributed,
                        const std::vector<std::uint64_t>& instants,
                        std::size_t column) {
  // The trace may end with the dump: what it counts was before.
  const std::uint64_t last_ns = attributed.end_ns - (attributed.end_ns != 0);
  for (const std::uint64_t time_ns : instants) {
    AddAt(std::min(time_ns, last_ns), column, attributed.event, 1);
  }
  if (!instants.empty()) return;
  const std::uint64_t length_ns = attributed.end_ns - attributed.begin_ns;
  if (length_ns == 0) {
    AddAt(last_ns, column, attributed.event, attributed.count);
    return;
  }
  const bool is_time =
      clocks_[attributed.event] && attributed.count == length_ns;
  const auto upto = [&](std::uint64_t time_ns) {
    return static_cast<std::uint64_t>(
        Wide{attributed.count} * (time_ns - attributed.begin_ns) / length_ns);
  };
  Cut(attributed.begin_ns, attributed.end_ns,
      [&](std::size_t interval, std::uint64_t from_ns, std::uint64_t to_ns) {
        const std::uint64_t part = upto(to_ns) - upto(from_ns);
        series_.cells_[series_.Cell(interval, column) + 1 + attributed.event] +=
            part;
        if (to_ns - from_ns != length_ns && !is_time) {
          series_.inferred_[interval].Add(attributed.event);
          SplitCount& split = series_.splits_[series_.Cell(interval, column) +
                                              1 + attributed.event];
          split.less += part;
          split.more += attributed.count - part;
        }
      });
}

// --- Segments ----------------------------------------------------------------

bool OverTime::Selects(ThreadIndex thread, std::uint32_t hook_id) const {
  if (!options_.hooks || !options_.hooks->contains(hook_id)) return false;
  return !options_.calls || options_.calls->contains(CallKey(
                                static_cast<std::uint32_t>(thread), hook_id));
}

void OverTime::OnSegmentBegin(const SegmentBegin& begin) {
  if (!Selects(begin.thread, begin.hook_id)) return;
  See(begin.time_ns);
  if (!IsLeftOut(begin.time_ns) && !begin.goes_on) {
    if (const auto at = IntervalAt(begin.time_ns)) ++series_.calls_[*at].calls;
  }
  Inside& inside = inside_[static_cast<std::uint32_t>(begin.thread)];
  if (inside.open++ == 0) inside.since_ns = begin.time_ns;
}

void OverTime::OnSegment(const SegmentSpan& span) {
  if (span.begin_inferred || !Selects(span.thread, span.hook_id)) return;
  const auto found = inside_.find(static_cast<std::uint32_t>(span.thread));
  if (found == inside_.end() || found->second.open == 0) return;
  Inside& inside = found->second;
  if (--inside.open != 0) return;
  Cut(inside.since_ns, span.end_ns,
      [this](std::size_t interval, std::uint64_t from_ns, std::uint64_t to_ns) {
        series_.calls_[interval].wall_ns += to_ns - from_ns;
      });
  if (series_.has_kernel_records && span.end_ns > inside.since_ns) {
    inside.unattributed.emplace_back(inside.since_ns, span.end_ns);
  }
}

void OverTime::AttributeInside(Inside& inside,
                               const AttributedTime& attributed) {
  const auto add = [&](std::uint64_t begin_ns, std::uint64_t end_ns) {
    Cut(std::max(begin_ns, attributed.begin_ns),
        std::min(end_ns, attributed.end_ns),
        [this](std::size_t interval, std::uint64_t from_ns,
               std::uint64_t to_ns) {
          series_.calls_[interval].on_cpu_ns += to_ns - from_ns;
        });
  };
  for (const auto& [begin_ns, end_ns] : inside.unattributed)
    add(begin_ns, end_ns);
  if (inside.open != 0) add(inside.since_ns, attributed.end_ns);
  // The thread's later amounts come later in time.
  std::erase_if(inside.unattributed, [&](const auto& stretch) {
    return stretch.second <= attributed.end_ns;
  });
}

namespace {

void AddDeviation(const RowBounds& bounds, Number number, std::uint64_t value,
                  Deviation& sum) {
  const std::optional<Bounds> interval = bounds.Of(number);
  if (!interval) return;
  sum.less = AddBounded(sum.less, value - std::min(value, interval->lo));
  sum.more = AddBounded(sum.more, interval->hi == Bounds::kNone
                                      ? Bounds::kNone
                                      : interval->hi - value);
}

}  // namespace

void OverTime::TakeBounds(const Report& report) {
  for (const CpuRow& row : report.cpu_rows) {
    const auto add = [&](Number number, Account account, std::uint64_t ns) {
      AddDeviation(row.bounds, number, ns,
                   series_.accounts_[TimeSeries::Column(account)]);
    };
    add(Number::kBusy, Account::kProcesses, row.busy_ns);
    add(Number::kIdle, Account::kIdle, row.idle_ns);
    add(Number::kInterrupts, Account::kInterrupts, row.interrupts_ns);
    add(Number::kOutside, Account::kOutside, row.outside_ns);
  }
  std::unordered_set<std::uint32_t> processes;
  for (const ThreadRow& row : report.threads) {
    if (!options_.threads ||
        !options_.threads->contains(static_cast<std::uint32_t>(row.index))) {
      continue;
    }
    processes.insert(static_cast<std::uint32_t>(row.process));
    AddDeviation(row.bounds, Number::kOnCpu, row.on_cpu_ns.value_or(0),
                 series_.selected_);
    for (std::size_t i = 0; i < series_.selected_counts_.size(); ++i) {
      AddDeviation(row.bounds, CountNumber(i, CountPart::kWhole),
                   row.counts[i].value_or(0), series_.selected_counts_[i]);
    }
  }
  // A process may have threads without any record.
  for (const ProcessRow& row : report.processes) {
    if (!processes.contains(static_cast<std::uint32_t>(row.index)) ||
        !row.bounds.Of(Number::kThreads)) {
      continue;
    }
    series_.selected_.more = Bounds::kNone;
    for (Deviation& count : series_.selected_counts_)
      count.more = Bounds::kNone;
  }
  for (const SegmentRow& row : report.segments) {
    if (!segments_.contains(row.segment)) continue;
    TimeSeries::CallsDeviation& sum = series_.calls_deviation_;
    AddDeviation(row.bounds, Number::kCalls, row.calls, sum.calls);
    AddDeviation(row.bounds, Number::kWallIncl, row.wall.incl, sum.wall_ns);
    if (!row.on_cpu) continue;
    AddDeviation(row.bounds, Number::kOnCpuIncl, row.on_cpu->incl,
                 sum.on_cpu_ns);
  }
}

absl::StatusOr<TimeSeries> OverTime::Finish(const Report& report) {
  See(report.begin_ns);
  series_.path = report.path;
  series_.origin_ns = options_.of_range ? report.begin_ns : series_.begin_ns;
  series_.end_ns =
      std::max(std::min(report.end_ns, options_.until_ns), series_.begin_ns);
  const std::uint64_t duration_ns = series_.end_ns - series_.begin_ns;
  if (duration_ns != 0) IntervalAt(series_.end_ns - 1);
  if (too_many_) {
    return absl::OutOfRangeError(absl::StrFormat(
        "Intervals of %d ns are too short: %d of them in %d ns, at most %d; "
        "the shortest that can be is --every %dns",
        series_.every_ns, duration_ns / series_.every_ns + 1, duration_ns,
        kMaxIntervals, (duration_ns + kMaxIntervals - 1) / kMaxIntervals));
  }
  TakeBounds(report);
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    if (!report.books[i].doubt.any()) continue;
    for (std::size_t event = 0; event < series_.events.size(); ++event) {
      if (series_.events[event] != report.events[i].name) continue;
      series_.lower_bounds_.Add(event);
    }
  }
  return std::move(series_);
}

std::unordered_set<std::uint32_t> SegmentsNamed(
    const logformat::TraceInfo& info, const std::string& glob) {
  std::unordered_set<std::uint32_t> hooks;
  for (const logformat::HookInfo& hook : info.hooks) {
    if (hook.kind == logformat::HookKind::kSegment &&
        hook.origin != logformat::HookOrigin::kInterrupt &&
        Matches(glob, hook.FullName())) {
      hooks.insert(hook.id);
    }
  }
  return hooks;
}

}  // namespace countrace::rmap
