// What limits sampled amounts of processes. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLED_PROCESSES_H_
#define COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLED_PROCESSES_H_

#include "rmap/result/samples.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// Takes it from the report's other tables.
void TakeDispatches(const Report& report, Samples& samples);

// Drops it if a process with samples has no limit: what is missing may be its.
void DropUnlessOfAll(Samples& samples);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLED_PROCESSES_H_
