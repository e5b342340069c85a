#include "cli/trace/trace_input.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/progress_bar.h"
#include "logformat/description/trace_directory.h"
#include "logformat/import/trace_search.h"
#include "runtime/recorder/control/left_files.h"

namespace countrace::cli {

using base::TemporaryDirectory;
using importer::ImportLimits;
using importer::OriginOf;
using importer::TraceOrigin;

absl::StatusOr<ImportLimits> ImportLimitsOf(const TraceOptions& options) {
  ImportLimits limits;
  for (const std::string& text : options.limits) {
    const absl::Status status = importer::SetLimit(text, limits);
    if (!status.ok()) return status;
  }
  return limits;
}

absl::StatusOr<std::unique_ptr<logformat::TraceReader>> TraceInput::Open(
    const std::string& path, TimesUse times) {
  const auto directory = Directory(path);
  if (!directory.ok()) return directory.status();
  auto reader = logformat::TraceReader::Open(*directory, /*shown_as=*/path);
  if (!reader.ok()) return reader;
  const logformat::TraceInfo& info = (*reader)->info();
  if (times == TimesUse::kNeeded && !info.has_times) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "The events of %s have no times, because its recorder had no clock: "
        "read it with `countrace script`, `info`, `list hooks` or "
        "`report --by hook` in text or CSV",
        path));
  }
  if (info.recording) {
    Say(verb_,
        absl::StrFormat("%s is still being recorded; this is what it holds now",
                        path));
  } else if (const auto listed = logformat::ListTraceDirectory(*directory);
             !info.finished && listed.ok() && listed->copied) {
    Say(verb_, absl::StrFormat("%s was copied before its recording ended; this "
                               "is what was stored then",
                               path));
  } else if (!info.finished) {
    runtime::RemoveLeftPipe(*directory);
    Say(verb_, absl::StrFormat("the recorder of %s died; what it had stored is "
                               "read, `countrace recover %s` makes it a "
                               "finished trace",
                               path, path));
  }
  return reader;
}

absl::StatusOr<std::string> TraceInput::Directory(const std::string& path) {
  if (const auto found = converted_.find(path); found != converted_.end()) {
    return found->second->path();
  }
  const bool with_more =
      !options_.more_traces.empty() && path == options_.trace;
  if (!options_.via_babeltrace && !with_more &&
      OriginOf(path) == TraceOrigin::kCountrace) {
    // Its hooks are segments and points already.
    if (!options_.mapping_file.empty()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "--map is for traces of other tools, and %s is one of countrace: "
          "leave it out, or apply it to the other trace with `countrace import "
          "--map`",
          path));
    }
    return path;
  }
  const auto limits = ImportLimitsOf(options_);
  if (!limits.ok()) return limits.status();
  auto directory = TemporaryDirectory::Create();
  if (!directory.ok()) return directory.status();
  ProgressBar progress("converting " + path, show_progress());
  importer::ImportRequest request;
  request.sources = {path};
  if (with_more) {
    request.sources.insert(request.sources.end(), options_.more_traces.begin(),
                           options_.more_traces.end());
  }
  request.output = (*directory)->path();
  request.mapping_file = options_.mapping_file;
  request.limits = *limits;
  request.progress = progress.Callback();
  request.say = [this](const std::string& text) { Say(verb_, text); };
  const absl::Status status = importer::ImportTrace(request);
  progress.Clear();
  if (absl::IsResourceExhausted(status)) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s. The conversion lies in %s: TMPDIR names another place, `countrace "
        "import -o` keeps it",
        status.message(), request.output));
  }
  if (!status.ok()) return status;
  return converted_.emplace(path, *std::move(directory)).first->second->path();
}

bool TraceInput::show_progress() const {
  return ShowProgress() && !options_.no_progress;
}

}  // namespace countrace::cli
