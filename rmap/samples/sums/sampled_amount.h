// Amounts that samples estimate, and their intervals. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLED_AMOUNT_H_
#define COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLED_AMOUNT_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "rmap/result/sample_table.h"
#include "rmap/result/samples.h"
#include "rmap/samples/sums/event_books.h"

namespace countrace::rmap {

// The interval of a share with `hits` of `all` samples of equal weight.
void SetShare(double hits, double all, SampledAmount& amount);

// Some of an event's samples.
struct SampleWeight {
  std::uint64_t hits = 0, periods = 0;
  std::vector<ProcessIndex> processes = {};  // that they are of; some twice

  void Add(const SampleSum& sum, const Samples& samples);
  void Add(const SampleWeight& more);
};

// All samples of an event. Samples of unequal periods are worth fewer.
struct SampleTotal {
  // Each sample has its whole amount: it is that of a wait (SampledEvent::
  // off_cpu), or each event has one.
  bool of_whole = false;
  double periods = 0, squared_periods = 0;
  std::uint64_t counted_times = 1;  // SampledEvent::periods
  std::uint64_t missing = 0;        // MissingIn()
  // ProcessLimits(), and sums over the processes that samples were added of,
  // and over those without samples. Empty: not known.
  std::map<ProcessIndex, ProcessLimit> limits = {};
  std::set<ProcessIndex> added = {};
  ProcessLimit sampled = {}, unsampled = {};
  std::uint64_t unseen_ns = 0;      // of all processes
  std::uint64_t interrupts_ns = 0;  // may be in any process's samples

  void Add(const SampleSum& sum, const Samples& samples);
  double effective_hits() const {
    return squared_periods > 0 ? periods * periods / squared_periods : 0;
  }
};

// One for each event of `samples`, without samples.
std::vector<SampleTotal> EmptyTotals(const Samples& samples);

SampledAmount AmountOf(const SampleWeight& weight, const SampleTotal& all);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLED_AMOUNT_H_
