// What a PMU says of the access that it sampled: PERF_SAMPLE_DATA_SRC
// (include/uapi/linux/perf_event.h, union perf_mem_data_src).
//
// Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_DATA_SOURCE_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_DATA_SOURCE_H_

#include <cstdint>
#include <string>

namespace countrace::rmap {

// Words for people; "-": the PMU does not say.
struct DataSource {
  std::string access;  // "load", "store", "prefetch", "execute"
  std::string memory;  // where the data was: "L1 hit", "remote RAM hit"
  std::string snoop;   // in other caches: "none", "hit", "miss", "HitM"
  std::string tlb;     // "L1 or L2 hit", "L2 miss, walker"
  std::string locked;  // "yes", "no"
};

// `word` as the kernel has it, in the byte order of this machine.
DataSource DecodeDataSource(std::uint64_t word);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_DATA_SOURCE_H_
