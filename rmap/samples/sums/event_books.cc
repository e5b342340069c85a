#include "rmap/samples/sums/event_books.h"

#include <algorithm>
#include <cmath>

#include "rmap/result/limits.h"

namespace countrace::rmap {
namespace {

// A damaged trace has any periods, and their sums more than an integer holds.
constexpr double kMostPeriod = 1e18;

bool IsClock(const SampledEvent& event) {
  return event.name == "cpu-clock" || event.name == "task-clock";
}

// The kernel's clocks go on in its own code where only user code is sampled.
bool IsOfUserCode(const SampledEvent& event) {
  return event.rate.ends_with("user code");
}

// Where records are lost there may be processes of which nothing is known.
bool HasProcessLimits(const Samples& samples, const SampledEvent& event) {
  return IsClock(event) && !IsOfUserCode(event) && !samples.counts.empty() &&
         !samples.processes.empty() && samples.lost_records == 0;
}

// A function that a process had for three periods and a half has a sample there
// in 97 of 100 recordings. Samples that are missing are taken to be spread as
// the others are.
std::uint64_t UnseenNs(double time, double sampled, double period) {
  if (sampled == 0) return static_cast<std::uint64_t>(time);
  return static_cast<std::uint64_t>(
      std::min(time, 3.7 * period * std::max(1.0, time / sampled)));
}

}  // namespace

std::vector<SampleBooks> SampleBooksOf(const Samples& samples) {
  std::vector<SampleBooks> all(samples.events.size());
  std::vector<double> squares(all.size());
  for (std::uint32_t event = 0; event < all.size(); ++event) {
    all[event].event = event;
    all[event].stacks_lost = samples.stacks_lost;
  }
  for (const SampleSum& sum : samples.sums) {
    all[sum.event].hits += sum.hits;
    all[sum.event].processes += sum.periods;
    squares[sum.event] += sum.squared_periods;
  }
  std::vector<std::uint64_t> counts(all.size());
  for (const SampleCount& count : samples.counts) {
    SampleBooks& books = all[count.event];
    if (!samples.of_part) {
      if (!samples.ends_lost) books.counted += count.counted;
      books.idle += count.idle;
      books.outside += count.outside;
    }
    books.lost += count.lost;
    books.throttled += count.throttled;
    ++counts[count.event];
  }
  for (const ShortWaits& waits : samples.shorts) {
    SampleBooks& books = all[waits.event];
    books.shorter += waits.shorter;
    books.shorter_ns += waits.shorter_ns;
    books.lost_ns += waits.lost_ns;
    books.unseen += waits.unseen;
  }
  for (SampleBooks& books : all) {
    const std::uint64_t times = samples.events[books.event].periods;
    if (books.hits > 0) {
      // Each of two periods is left on each CPU: their mean by weight.
      const std::uint64_t period =
          times == 1
              ? books.processes / books.hits
              : static_cast<std::uint64_t>(std::min(
                    kMostPeriod, squares[books.event] /
                                     static_cast<double>(books.processes)));
      books.per_cpu = counts[books.event] * period;
    }
    for (std::uint64_t* const sum :
         {&books.counted, &books.processes, &books.idle, &books.outside,
          &books.per_cpu}) {
      *sum /= times;
    }
    books.residual = static_cast<std::int64_t>(
        books.counted - books.processes - books.idle - books.outside -
        books.shorter_ns - books.lost_ns);
  }
  return all;
}

std::map<ProcessIndex, ProcessLimit> ProcessLimits(const Samples& samples,
                                                   const SampleBooks& books) {
  std::map<ProcessIndex, ProcessLimit> limits;
  const SampledEvent& event = samples.events[books.event];
  if (!HasProcessLimits(samples, event)) return limits;
  std::map<ProcessIndex, std::uint64_t> sampled;
  for (const SampleSum& sum : samples.sums) {
    if (sum.event != books.event) continue;
    sampled[samples.contexts[sum.context].process] += sum.periods;
  }
  const double period = books.hits == 0 ? 0
                                        : static_cast<double>(books.processes) /
                                              static_cast<double>(books.hits);
  // The dispatches may be recorded before the event counts.
  const std::uint64_t before =
      books.counted == 0 || samples.cpu_ns < books.counted
          ? 0
          : samples.cpu_ns - books.counted;
  for (const SampledProcess& process : samples.processes) {
    const auto time = static_cast<double>(process.on_cpu_ns);
    const double usual = static_cast<double>(books.per_cpu + before) +
                         2 * std::sqrt(time * period);
    const std::uint64_t sampled_ns = sampled[process.process] / event.periods;
    const double missing = time - static_cast<double>(sampled_ns);
    limits[process.process] = {
        process.on_cpu_ns, sampled_ns,
        missing <= usual
            ? 0
            : static_cast<std::uint64_t>(std::min(kMostPeriod, missing)),
        UnseenNs(time, static_cast<double>(sampled_ns), period)};
  }
  return limits;
}

std::int64_t ResidualOfProcesses(const Samples& samples,
                                 const SampleBooks& books) {
  std::uint64_t on_cpu_ns = 0;
  for (const SampledProcess& process : samples.processes) {
    on_cpu_ns += process.on_cpu_ns;
  }
  return static_cast<std::int64_t>(on_cpu_ns - books.processes);
}

std::uint64_t MissingIn(const Samples& samples, const SampleBooks& books) {
  const SampledEvent& event = samples.events[books.event];
  if (IsClock(event) && IsOfUserCode(event)) return 0;
  if (HasProcessLimits(samples, event)) {
    std::uint64_t missing = 0;
    for (const auto& [process, limit] : ProcessLimits(samples, books)) {
      missing = AddBounded(missing, limit.missing);
    }
    return missing;
  }
  if (event.off_cpu) {
    if (samples.lost_records == 0) return books.lost_ns;
    // A lost wait may be of any length.
    if (books.counted == 0) return static_cast<std::uint64_t>(kMostPeriod);
    return books.lost_ns + static_cast<std::uint64_t>(
                               std::max<std::int64_t>(0, books.residual));
  }
  if (books.counted == 0) {
    if (books.hits == 0) return 0;
    const double period =
        static_cast<double>(books.processes) / static_cast<double>(books.hits);
    return static_cast<std::uint64_t>(std::min(
        kMostPeriod, static_cast<double>(samples.lost_records) * period));
  }
  const auto usual = static_cast<std::int64_t>(books.per_cpu);
  if (books.residual <= usual) return 0;
  return static_cast<std::uint64_t>(books.residual);
}

}  // namespace countrace::rmap
