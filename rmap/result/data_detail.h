#ifndef COUNTRACE_RMAP_RESULT_DATA_DETAIL_H_
#define COUNTRACE_RMAP_RESULT_DATA_DETAIL_H_

#include <cstdint>

namespace countrace::rmap {

// By what data addresses of samples are added up (Samples::data_sums).
enum class DataDetail : std::uint8_t {
  kNone,    // not at all
  kSource,  // by what the PMU says of each access, not by address
  kObject,  // by area, and in files by address
  kPage,    // by page of 4 KiB
  kAddress,
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_DATA_DETAIL_H_
