// The hooks that are registered in a recording so far, of programs and of the
// kernel, and their record sizes.
//
// In: `.session`, `.hooks`, `.kernel_hooks` of the trace directory, read again
// when they have grown. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_REGISTERED_HOOKS_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_REGISTERED_HOOKS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "logformat/packet_layout.h"
#include "logformat/read/record_table.h"
#include "logformat/trace_info.h"

namespace countrace::runtime {

class RegisteredHooks {
 public:
  explicit RegisteredHooks(std::string trace) : trace_(std::move(trace)) {}

  // Afterwards the table has every hook with a record committed before the
  // call. Cheap if there are no new ones. Returns: as ReadSessionFiles().
  absl::Status Refresh();

  // Requires: Refresh() succeeded once.
  const logformat::RecordTable& table(logformat::StreamClass stream) const {
    return stream == logformat::StreamClass::kCpu ? tables_->cpu
                                                  : tables_->thread;
  }
  const std::vector<logformat::HookInfo>& hooks() const { return info_.hooks; }
  // The trace as its session files describe it so far.
  const logformat::TraceInfo& info() const { return info_; }
  // Changes with the hooks; 0: none were read yet.
  std::uint64_t generation() const { return generation_; }

 private:
  struct Tables {
    logformat::RecordTable cpu, thread;
  };
  std::string trace_;
  std::optional<Tables> tables_;
  logformat::TraceInfo info_;
  std::array<std::int64_t, 2> bytes_{};  // of the two registries when read
  std::uint64_t generation_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_REGISTERED_HOOKS_H_
