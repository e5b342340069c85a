// Which records of a simulated trace are lost: from one in a thousand to three
// in ten, single ones, runs of them, whole packets, streams, the beginning, the
// end.
#ifndef COUNTRACE_TESTS_RMAP_LOST_RECORDS_H_
#define COUNTRACE_TESTS_RMAP_LOST_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <random>

#include "tests/rmap/memory_trace.h"

namespace countrace::test_support {

// For MemoryTrace::RemoveOf(): the kind and the part depend on the seed.
class LostRecords {
 public:
  LostRecords(std::uint32_t seed, const MemoryTrace& trace);
  bool operator()(std::size_t i, bool of_cpu, std::uint32_t stream);

 private:
  std::mt19937 random_;
  std::size_t size_, begin_;
  std::uint32_t kind_, stream_, other_stream_;
  double part_;
  std::size_t burst_ = 0;
};

// Overwrites the middle of some streams, as a flight recording does.
void OverwriteSome(std::uint32_t seed, MemoryTrace& trace);

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_LOST_RECORDS_H_
