// Finished copies of a running recording, one after the other: what has been
// recorded so far, for readers of whole traces.
//
// Thread: one.
#ifndef COUNTRACE_CLI_TRACE_RECORDING_COPIES_H_
#define COUNTRACE_CLI_TRACE_RECORDING_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/statusor.h"

namespace countrace::cli {

struct RecordingCopy {
  std::string path;
  // The recorder's dumps for it, where its tables end, on CLOCK_MONOTONIC; 0:
  // there are none.
  std::uint64_t dumped_ns = 0;
};

class RecordingCopies {
 public:
  // Copies of `trace` below `folder`, of which the latest `kept` stay.
  RecordingCopies(std::string trace, std::string folder, std::size_t kept)
      : trace_(std::move(trace)), folder_(std::move(folder)), kept_(kept) {}

  // Errors: FAILED_PRECONDITION nothing is recorded there any more; those of
  // SnapshotTrace().
  absl::StatusOr<RecordingCopy> Next();

 private:
  const std::string trace_, folder_;
  const std::size_t kept_;
  std::size_t made_ = 0;
  std::deque<std::string> paths_;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_TRACE_RECORDING_COPIES_H_
