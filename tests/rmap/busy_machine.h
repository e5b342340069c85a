// A random machine without a truth, with all kinds of records: two CPUs, system
// calls, faults in them, probes, interrupts, signals, forks, exec by any
// thread, names, exits, wake-ups, switches without a dump or without a record,
// CPUs that go and come back, and losses. Processes 101, 102 and 103 exist at
// the begin; in every fifth trace 101 is a command's.
#ifndef COUNTRACE_TESTS_RMAP_BUSY_MACHINE_H_
#define COUNTRACE_TESTS_RMAP_BUSY_MACHINE_H_

#include <cstdint>
#include <memory>

#include "tests/rmap/memory_trace.h"

namespace countrace::test_support {

std::unique_ptr<MemoryTrace> BusyMachine(std::uint32_t seed);

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_BUSY_MACHINE_H_
