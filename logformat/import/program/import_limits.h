// What the program that reads traces of others may take.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_LIMITS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_LIMITS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace countrace::importer {

// 0: chosen by the size of the trace.
struct ImportLimits {
  std::uint64_t memory_bytes = 0;  // address space
  std::uint64_t cpu_seconds = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t files = 65536;  // open at a time, within the system's limit
  std::uint64_t stall_seconds = 60;  // without progress
};
// "memory=8G", "cpu=10m", "output=100G", "files=4096", "stall=5m".
absl::Status SetLimit(std::string_view text, ImportLimits& limits);

// Bytes of memory for each byte of a trace.
inline constexpr std::uint64_t kMemoryFactor = 64;

// `limits` with those that were not given, for a trace of `bytes`.
ImportLimits WithDefaults(ImportLimits limits, std::uint64_t bytes);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_LIMITS_H_
