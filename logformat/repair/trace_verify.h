// Checks that a trace's files satisfy everything in FORMAT.md.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_TRACE_VERIFY_H_
#define COUNTRACE_LOGFORMAT_REPAIR_TRACE_VERIFY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/loss.h"

namespace countrace::logformat {

struct VerifyFinding {
  std::string file;          // inside the trace directory
  std::uint64_t offset = 0;  // of the defect, in bytes
  std::string what;          // with both numbers
  // Records are missing, but the present ones are sound: recover cannot help.
  bool is_loss = false;
};

struct VerifyResult {
  bool ok = true;  // all findings are losses
  std::uint64_t streams = 0, packets = 0, records = 0;
  std::uint64_t checked_packets = 0;  // with their writer's checksum
  Loss loss;                          // without its messages
  std::vector<VerifyFinding> findings;
};

// Reads every byte of the trace, changes none. An unfinished trace is a finding
// (`countrace recover` repairs it), and so is unreadable metadata. Returns:
// NOT_FOUND, INVALID_ARGUMENT (not a countrace trace).
absl::StatusOr<VerifyResult> VerifyTrace(const std::string& path);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_TRACE_VERIFY_H_
