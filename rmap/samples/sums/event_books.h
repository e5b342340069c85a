// The books of each sampled event. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_SUMS_EVENT_BOOKS_H_
#define COUNTRACE_RMAP_SAMPLES_SUMS_EVENT_BOOKS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "rmap/result/samples.h"

namespace countrace::rmap {

// What an event counted on all CPUs, and what its samples say of it. Sums of
// periods, which add up to `counted` but for the residual. Of a part of a
// recording only those of processes are known: `counted`, `idle` and `outside`
// are 0.
struct SampleBooks {
  std::uint32_t event = 0;
  std::uint64_t counted = 0;
  std::uint64_t processes = 0, idle = 0, outside = 0;
  std::int64_t residual = 0;  // counted minus these
  std::uint64_t per_cpu = 0;  // one period of each CPU: its usual limit
  std::uint64_t hits = 0, lost = 0, throttled = 0, stacks_lost = 0;
  // ShortWaits of an event off CPU; both times are parts of `counted`.
  std::uint64_t shorter = 0, shorter_ns = 0, lost_ns = 0, unseen = 0;
};

std::vector<SampleBooks> SampleBooksOf(const Samples& samples);

// What the dispatches say of a process and a clock.
struct ProcessLimit {
  std::uint64_t on_cpu_ns = 0;
  std::uint64_t sampled_ns = 0;
  // The part of its time that no sample stands for, beyond a period of each CPU
  // and what chance explains.
  std::uint64_t missing = 0;
  // The most that a function has of its time of which no sample is in it.
  std::uint64_t unseen_ns = 0;
};

// Empty: the event is no clock, or not all dispatches are known. If it is not
// empty, what idle CPUs and programs outside lack is no process's.
std::map<ProcessIndex, ProcessLimit> ProcessLimits(const Samples& samples,
                                                   const SampleBooks& books);

// The processes' time beyond what samples stand for; may be below 0. Requires:
// ProcessLimits() are known.
std::int64_t ResidualOfProcesses(const Samples& samples,
                                 const SampleBooks& books);

// What was counted beyond the periods that each CPU has left at the end, and no
// sample stands for: samples were lost, or never taken. If it is not known what
// was counted, as much as there may be: each lost record may be a sample. Of a
// clock what is missing in processes.
std::uint64_t MissingIn(const Samples& samples, const SampleBooks& books);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SUMS_EVENT_BOOKS_H_
