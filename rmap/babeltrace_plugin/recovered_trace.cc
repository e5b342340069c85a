#include "rmap/babeltrace_plugin/recovered_trace.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/description/trace_directory.h"
#include "logformat/repair/trace_finish.h"

namespace countrace::rmap::babeltrace_plugin {

namespace fs = std::filesystem;

namespace {

absl::Status CopyFile(const fs::path& from, const fs::path& to) {
  std::error_code error;
  // Skips links and everything else that is not a file: a trace has neither.
  const fs::file_status kind = fs::symlink_status(from, error);
  if (!fs::is_regular_file(kind)) return absl::OkStatus();
  fs::copy_file(from, to, error);
  if (!error) return absl::OkStatus();
  const std::string what = absl::StrFormat("Cannot copy %s to recover it: %s",
                                           from.string(), error.message());
  if (error == std::errc::no_space_on_device) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s; TMPDIR names another place, `countrace recover` needs none",
        what));
  }
  return absl::FailedPreconditionError(what);
}

// Copies streams, metadata, and the session's hidden files.
absl::Status CopyTrace(const logformat::TraceDirectory& from,
                       const std::string& to) {
  std::vector<std::string> names;
  for (const logformat::StreamFile& stream : from.streams) {
    names.push_back(stream.name);
  }
  if (from.has_metadata) names.emplace_back(logformat::kMetadataFile);
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(from.path, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) names.push_back(name);
  }
  for (const std::string& name : names) {
    const absl::Status status =
        CopyFile(fs::path(from.path) / name, fs::path(to) / name);
    if (!status.ok()) return status;
  }
  // Its recorder is dead: nothing was stored meanwhile.
  if (!from.copied) {
    fs::resize_file(fs::path(to) / logformat::kIncompleteFile, 0, error);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecoveredTrace>> RecoveredTrace::Make(
    const std::string& path) {
  const auto directory = logformat::ListTraceDirectory(path);
  if (!directory.ok()) return directory.status();
  std::unique_ptr<RecoveredTrace> trace(new RecoveredTrace());
  if (!directory->incomplete) {
    trace->path_ = path;
    return trace;
  }
  if (directory->locked) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is still being recorded; end the recording, or read it with "
        "`countrace report`",
        path));
  }
  auto temporary = base::TemporaryDirectory::Create();
  if (!temporary.ok()) return temporary.status();
  trace->directory_ = *std::move(temporary);
  // Reports show the last part of the path.
  std::error_code error;
  fs::path name = fs::weakly_canonical(path, error).filename();
  if (name.empty()) name = "trace";
  const fs::path copy = fs::path(trace->directory_->path()) / name;
  if (!fs::create_directory(copy, error)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("Cannot make %s: %s", copy.string(), error.message()));
  }
  trace->path_ = copy.string();
  absl::Status status = CopyTrace(*directory, trace->path_);
  if (!status.ok()) return status;
  // The same call as in `countrace recover`, for the same result.
  auto result = logformat::FinishTrace(
      trace->path_, {.processes_may_be_alive = true, .recorder_died = true});
  if (!result.ok()) return result.status();
  trace->messages_ = std::move(result->messages);
  return trace;
}

}  // namespace countrace::rmap::babeltrace_plugin
