// Converts a perf.data file to the records of a countrace trace.
//
// In: the bytes of the file. Out: records to TraceOutput, and the trace's
// description. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_PERF_CONVERSION_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_PERF_CONVERSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/import/perf/machine_files.h"
#include "logformat/import/trace_output.h"

namespace countrace::importer::perf {

// Called now and then with the bytes read, and the time reached.
using Progress =
    std::function<void(std::uint64_t bytes, std::uint64_t time_ns)>;

// Writes all records to the output, but does not finish it. Returns:
// INVALID_ARGUMENT why the file cannot be read, where, and what to do.
absl::Status ConvertPerfData(std::span<const std::byte> bytes,
                             const Mapping& mapping,
                             const MachineFiles& machine, TraceOutput& output,
                             const Progress& progress);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_PERF_CONVERSION_H_
