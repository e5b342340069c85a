#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/trace_options.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "logformat/repair/trace_snapshot.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/control/process_control.h"
#include "runtime/recorder/control/snapshot_dumps.h"
#include "runtime/recorder/directory/trace_directory.h"

namespace countrace::cli {
namespace {

namespace fs = std::filesystem;

// The recorder keeps `.incomplete` of its trace open.
std::string RecordedBy(std::int32_t pid) {
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(absl::StrFormat("/proc/%d/fd", pid), error)) {
    const fs::path file = fs::read_symlink(entry.path(), error);
    if (file.filename() == logformat::kIncompleteFile) {
      return file.parent_path().string();
    }
  }
  return "";
}

absl::StatusOr<std::string> TraceOf(std::int32_t pid) {
  std::string trace = RecordedBy(pid);
  if (!trace.empty()) return trace;
  auto process = runtime::ProcessControl::Open(pid);
  if (!process.ok()) return process.status();
  if (const auto hooks = process->List(); !hooks.ok()) return hooks.status();
  if (!process->session().empty()) return process->session();
  return absl::FailedPreconditionError(absl::StrFormat(
      "Process %d takes part in no recording; `countrace record --flight 64M "
      "-p %d` begins one",
      pid, pid));
}

int RunSnapshot(const Arguments& arguments) {
  VerbParser parser(kSnapshotVerb);
  std::string trace = kDefaultTrace, output;
  bool force = false;
  parser.AddTrace(trace);
  parser.AddText("--output", output);
  parser.AddFlag("--force", force);
  if (const auto status = parser.Parse(arguments)) return *status;

  std::int32_t pid = 0;
  std::error_code error;
  if (!fs::exists(trace, error) && absl::SimpleAtoi(trace, &pid)) {
    const auto found = TraceOf(pid);
    if (!found.ok()) return ReportFailure(kSnapshotVerb.name, found.status());
    trace = *found;
  }
  if (output.empty()) output = trace + ".snapshot";
  // The tables end with these dumps. Without them the snapshot is complete up
  // to the last records of each CPU, and the report bounds the rest.
  logformat::KeptStreams kept(trace);
  logformat::SnapshotContent content;
  content.kept = &kept;
  if (const auto dumped = runtime::RequestSnapshotDumps(trace); dumped.ok()) {
    content.dumped_ns = *dumped;
  } else if (!absl::IsNotFound(dumped.status())) {
    Say(kSnapshotVerb.name,
        absl::StrFormat("%s: its tables end without the last counters",
                        base::StatusText(dumped.status())));
  }
  auto taken = logformat::SnapshotTrace(trace, output, content);
  // An old trace is removed only when nothing else prevents the new one.
  if (force && absl::IsAlreadyExists(taken.status())) {
    const absl::Status removed = runtime::RemoveTrace(output);
    if (!removed.ok()) return ReportFailure(kSnapshotVerb.name, removed);
    taken = logformat::SnapshotTrace(trace, output, content);
  }
  if (!taken.ok()) return ReportFailure(kSnapshotVerb.name, taken.status());
  Say(kSnapshotVerb.name,
      absl::StrFormat("%s: %s records in %s streams", output,
                      base::FormatCount(taken->records),
                      base::FormatCount(taken->streams)));
  return kExitOk;
}

}  // namespace

const Verb kSnapshotVerb = {"snapshot", kSnapshotHelp, RunSnapshot};

}  // namespace countrace::cli
