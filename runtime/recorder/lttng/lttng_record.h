// The recorder behind `countrace record --backend lttng`. It runs the command
// with libcountrace-lttng.so preloaded, in an LTTng session of its own, and
// writes an LTTng trace (CTF 1.8): TRACE/ust/..., and TRACE/kernel/... where
// LTTng's kernel modules are loaded.
//
// Thread: one. The countrace runtime is not used, unless the command loads it.
#ifndef COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RECORD_H_
#define COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/loss.h"

namespace countrace::runtime {

struct LttngRecordOptions {
  std::string output = "countrace.ctf";
  bool force = false;
  std::vector<std::string> command;
  std::uint64_t duration_ns = 0;  // 0: until the command ends or a signal
  // Counters at each event, named as in perf: contexts perf:thread:*.
  std::vector<std::string> events;
  std::string hook_filter;  // globs separated by ','; only '*' is special
  std::uint64_t sub_buffer_bytes = 1 << 20;
  std::uint32_t sub_buffers = 4;
  bool kernel = true;            // the kernel's scheduler events, if possible
  std::string provider_library;  // path of libcountrace-lttng.so
};

struct LttngRecordResult {
  std::string path;
  int command_status = 0;  // wait(2) status
  std::uint64_t bytes = 0, elapsed_ns = 0;
  logformat::Loss loss;  // without its messages
  std::vector<std::string> messages;
};

// Blocks until the recording is finished; signals as in Record(). Returns,
// beside Record()'s errors: NOT_FOUND no LTTng tools, or no provider library;
// UNAVAILABLE the session daemon or one of its commands failed;
// INVALID_ARGUMENT an event that LTTng does not have, or that cannot be counted
// here, or a filter that LTTng cannot express.
absl::StatusOr<LttngRecordResult> RecordWithLttng(
    const LttngRecordOptions& options);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_RECORD_H_
