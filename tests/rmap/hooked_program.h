// A random program without a truth: threads of two processes with dumps at
// their hooks, event sets, values that are absent, that wrap or go back, calls
// left by jumps. Of every second one records are lost.
#ifndef COUNTRACE_TESTS_RMAP_HOOKED_PROGRAM_H_
#define COUNTRACE_TESTS_RMAP_HOOKED_PROGRAM_H_

#include <cstdint>
#include <memory>

#include "tests/rmap/memory_trace.h"

namespace countrace::test_support {

std::unique_ptr<MemoryTrace> HookedProgram(std::uint32_t seed);

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_HOOKED_PROGRAM_H_
