// Is a trace sound? Everything FORMAT.md promises, checked on the files.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_TRACE_VERIFY_H_
#define COUNTRACE_LOGFORMAT_REPAIR_TRACE_VERIFY_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/packet_layout.h"

namespace countrace::logformat {

struct VerifyFinding {
  std::string file;          // inside the trace directory
  std::uint64_t offset = 0;  // of what is wrong, in bytes
  std::string what;          // with both numbers
  // Something is missing, but what is there is sound: recover cannot help.
  bool is_loss = false;
};

struct VerifyResult {
  bool ok = true;  // no finding but losses
  std::uint64_t streams = 0, packets = 0, records = 0;
  std::array<std::uint64_t, kDiscardCauses> discarded{};  // whole trace
  std::vector<VerifyFinding> findings;
};

// Reads every byte of the trace, changes none. An unfinished trace is a finding
// (`countrace recover` makes it sound), and so is metadata that cannot be read.
// Returns: NOT_FOUND, INVALID_ARGUMENT (not a countrace trace).
absl::StatusOr<VerifyResult> VerifyTrace(const std::string& path);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_TRACE_VERIFY_H_
