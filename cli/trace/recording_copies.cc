#include "cli/trace/recording_copies.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_format.h"
#include "logformat/repair/trace_snapshot.h"
#include "runtime/recorder/control/snapshot_dumps.h"
#include "runtime/recorder/directory/trace_directory.h"

namespace countrace::cli {

absl::StatusOr<RecordingCopy> RecordingCopies::Next() {
  if (!runtime::ModeOfRecordingAt(trace_)) {
    return absl::FailedPreconditionError("Nothing is recorded in " + trace_);
  }
  RecordingCopy copy;
  logformat::KeptStreams streams(trace_);
  logformat::SnapshotContent content;
  content.kept = &streams;
  const auto dumped_ns = runtime::RequestSnapshotDumps(trace_);
  if (dumped_ns.ok()) {
    copy.dumped_ns = content.dumped_ns = *dumped_ns;
  }  // else the tables end with the last record of each CPU
  copy.path = absl::StrFormat("%s/copy-%d", folder_, made_++);
  const auto taken = logformat::SnapshotTrace(trace_, copy.path, content);
  if (!taken.ok()) return taken.status();
  paths_.push_back(copy.path);
  while (paths_.size() > kept_) {
    std::error_code ignored;
    std::filesystem::remove_all(paths_.front(), ignored);
    paths_.pop_front();
  }
  return copy;
}

}  // namespace countrace::cli
