// A perf.data file to the records of a countrace trace.
//
// In: the bytes of the file. Out: records to TraceOutput, and what the file
// says about itself. Thread: one.
#ifndef COUNTRACE_RMAP_FOREIGN_PERF_PERF_CONVERSION_H_
#define COUNTRACE_RMAP_FOREIGN_PERF_PERF_CONVERSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "rmap/foreign/mapping_file.h"
#include "rmap/foreign/trace_output.h"

namespace countrace::rmap::foreign::perf {

// Told how many bytes were read, and up to which time, every now and then.
using Progress =
    std::function<void(std::uint64_t bytes, std::uint64_t time_ns)>;

// The output is completed, not finished.
// Returns: INVALID_ARGUMENT why the file cannot be read, where, and what to do.
absl::Status ConvertPerfData(std::span<const std::byte> bytes,
                             const Mapping& mapping, TraceOutput& output,
                             const Progress& progress);

}  // namespace countrace::rmap::foreign::perf

#endif  // COUNTRACE_RMAP_FOREIGN_PERF_PERF_CONVERSION_H_
