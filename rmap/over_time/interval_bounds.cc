#include "rmap/over_time/interval_bounds.h"

#include <algorithm>

#include "rmap/result/limits.h"

namespace countrace::rmap {
namespace {

bool IsExact(const Bounds& bounds, std::uint64_t value) {
  return bounds.lo == value && bounds.hi == value;
}

constexpr Account kAll[] = {Account::kProcesses, Account::kIdle,
                            Account::kInterrupts, Account::kOutside,
                            Account::kUnattributed};

// What its rows may have too much means that they may lack more than the
// difference of the two: then only `most` limits them.
Bounds Around(std::uint64_t value, const Deviation& rows, std::uint64_t most) {
  const std::uint64_t hi =
      rows.less == 0 ? std::min(AddBounded(value, rows.more), most) : most;
  return {Less(value, rows.less), std::max(hi, value)};
}

}  // namespace

Bounds TimeBounds(const TimeSeries& series, std::size_t interval,
                  Account account) {
  const std::uint64_t ns = series.Time(interval, account);
  if (account == Account::kUnattributed) return {ns, ns};
  std::uint64_t more = 0, less = 0;
  const Deviation& of_rows = series.deviation(account);
  if (of_rows.more != 0) {
    more = series.Time(interval, Account::kUnattributed);
    // A process whose fork was lost was taken for one outside.
    if (account == Account::kProcesses &&
        series.deviation(Account::kOutside).less != 0) {
      more += series.Time(interval, Account::kOutside);
    }
    more = std::min(more, of_rows.more);
  }
  if (of_rows.less != 0) less = std::min(ns, of_rows.less);
  return {ns - less, ns + more};
}

Bounds CountBounds(const TimeSeries& series, std::size_t interval,
                   Account account, std::size_t event) {
  const SplitCount split = series.Split(interval, account, event);
  const std::uint64_t count = series.Count(interval, account, event);
  Bounds bounds{count - split.less, count + split.more};
  if (account != Account::kUnattributed) {
    bounds.hi += series.Count(interval, Account::kUnattributed, event) +
                 series.Split(interval, Account::kUnattributed, event).more;
    if (series.deviation(Account::kOutside).less != 0) {
      if (account == Account::kOutside) bounds.lo = 0;
      if (account == Account::kProcesses) {
        bounds.hi += series.Count(interval, Account::kOutside, event) +
                     series.Split(interval, Account::kOutside, event).more;
      }
    }
  }
  if (series.QualityOf(interval, event) == Quality::kBounded) {
    bounds.hi = Bounds::kNone;
  }
  return bounds;
}

Bounds TotalCountBounds(const TimeSeries& series, std::size_t interval,
                        std::size_t event) {
  Bounds sum{0, 0};
  for (const Account account : kAll) {
    const SplitCount split = series.Split(interval, account, event);
    const std::uint64_t count = series.Count(interval, account, event);
    sum.lo += count - split.less;
    sum.hi += count + split.more;
  }
  if (series.QualityOf(interval, event) == Quality::kBounded) {
    sum.hi = Bounds::kNone;
  }
  return sum;
}

Bounds SelectedTimeBounds(const TimeSeries& series, std::size_t interval) {
  const std::uint64_t ns = series.SelectedTime(interval);
  const std::uint64_t most =
      TimeBounds(series, interval, Account::kProcesses).hi;
  return Around(ns, series.selected(), std::max(ns, most));
}

Bounds SelectedCountBounds(const TimeSeries& series, std::size_t interval,
                           std::size_t event) {
  const std::uint64_t count = series.SelectedCount(interval, event);
  const SplitCount split = series.SelectedSplit(interval, event);
  const Deviation& rows = series.selected_counts()[event];
  Bounds bounds = CountBounds(series, interval, Account::kProcesses, event);
  bounds.lo = count - split.less;
  bounds.hi = std::min(bounds.hi, AddBounded(count + split.more, rows.more));
  if (series.QualityOf(interval, event) == Quality::kBounded) {
    bounds.hi = Bounds::kNone;
  }
  return bounds;
}

CallBounds BoundsOfCalls(const TimeSeries& series, std::size_t interval) {
  const IntervalCalls& calls = series.Calls(interval);
  const std::uint64_t cpu_ns = series.TotalTime(interval);
  return {
      Around(calls.calls, series.calls_deviation().calls, Bounds::kNone),
      Around(calls.wall_ns, series.calls_deviation().wall_ns, Bounds::kNone),
      Around(calls.on_cpu_ns, series.calls_deviation().on_cpu_ns, cpu_ns)};
}

NamedBounds BoundsOfInterval(const TimeSeries& series, std::size_t interval) {
  NamedBounds out;
  const auto add = [&](std::string name, std::uint64_t value,
                       const Bounds& bounds) {
    if (!IsExact(bounds, value)) out.emplace_back(std::move(name), bounds);
  };
  if (series.has_kernel_records) {
    for (const Account account : kAll) {
      add(std::string("cpu_ns.") + AccountName(account),
          series.Time(interval, account),
          TimeBounds(series, interval, account));
    }
  }
  for (std::size_t event = 0; event < series.events.size(); ++event) {
    const std::string name = "counts." + series.events[event] + ".";
    add(name + "total", series.TotalCount(interval, event),
        TotalCountBounds(series, interval, event));
    for (const Account account : kAll) {
      add(name + AccountName(account), series.Count(interval, account, event),
          CountBounds(series, interval, account, event));
    }
  }
  if (series.has_selected) {
    add("selected.on_cpu_ns", series.SelectedTime(interval),
        SelectedTimeBounds(series, interval));
    for (std::size_t event = 0; event < series.events.size(); ++event) {
      add("selected.counts." + series.events[event],
          series.SelectedCount(interval, event),
          SelectedCountBounds(series, interval, event));
    }
  }
  if (series.has_calls) {
    const IntervalCalls& calls = series.Calls(interval);
    const CallBounds bounds = BoundsOfCalls(series, interval);
    add("segments.calls", calls.calls, bounds.calls);
    add("segments.wall_ns", calls.wall_ns, bounds.wall_ns);
    if (series.has_kernel_records) {
      add("segments.on_cpu_ns", calls.on_cpu_ns, bounds.on_cpu_ns);
    }
  }
  return out;
}

Qualities QualitiesOfInterval(const TimeSeries& series, std::size_t interval) {
  Qualities qualities;
  for (std::size_t event = 0; event < series.events.size(); ++event) {
    qualities.Add(series.QualityOf(interval, event));
  }
  if (series.has_kernel_records) {
    for (const Account account : kAll) {
      if (!IsExact(TimeBounds(series, interval, account),
                   series.Time(interval, account))) {
        qualities.Add(Quality::kBounded);
      }
    }
  }
  if (series.has_calls) {
    const IntervalCalls& calls = series.Calls(interval);
    const CallBounds bounds = BoundsOfCalls(series, interval);
    if (!IsExact(bounds.calls, calls.calls) ||
        !IsExact(bounds.wall_ns, calls.wall_ns) ||
        !IsExact(bounds.on_cpu_ns, calls.on_cpu_ns)) {
      qualities.Add(Quality::kBounded);
    }
  }
  return qualities;
}

const char* AccountName(Account account) {
  switch (account) {
    case Account::kProcesses:
      return "processes";
    case Account::kIdle:
      return "idle";
    case Account::kInterrupts:
      return "interrupts";
    case Account::kOutside:
      return "outside";
    case Account::kUnattributed:
      return "unattributed";
  }
  return "";
}

}  // namespace countrace::rmap
