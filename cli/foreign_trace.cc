#include "cli/foreign_trace.h"

#include <map>
#include <memory>

#include "absl/strings/str_format.h"
#include "base/posix/temporary_directory.h"
#include "cli/foreign_choice.h"
#include "cli/progress_bar.h"
#include "logformat/import/trace_search.h"

namespace countrace::cli {

using base::TemporaryDirectory;
using importer::ImportLimits;
using importer::OriginOf;
using importer::TraceOrigin;

absl::StatusOr<ImportLimits> ChosenLimits() {
  ImportLimits limits;
  for (const std::string& text : foreign_choice().limits) {
    const absl::Status status = importer::SetLimit(text, limits);
    if (!status.ok()) return status;
  }
  return limits;
}

absl::StatusOr<std::string> TraceToRead(const std::string& path) {
  static std::map<std::string, std::unique_ptr<base::TemporaryDirectory>>
      converted;
  if (const auto found = converted.find(path); found != converted.end()) {
    return found->second->path();
  }
  const ForeignChoice& choice = foreign_choice();
  const bool with_more =
      !choice.more_traces.empty() && path == choice.first_trace;
  if (!choice.via_babeltrace && !with_more &&
      OriginOf(path) == TraceOrigin::kCountrace) {
    return path;
  }
  const auto limits = ChosenLimits();
  if (!limits.ok()) return limits.status();
  auto directory = base::TemporaryDirectory::Create();
  if (!directory.ok()) return directory.status();
  ProgressBar progress("converting " + path,
                       ShowProgress() && !choice.no_progress);
  importer::ImportRequest request;
  request.sources = {path};
  if (with_more) {
    request.sources.insert(request.sources.end(), choice.more_traces.begin(),
                           choice.more_traces.end());
  }
  request.output = (*directory)->path();
  request.mapping_file = choice.mapping_file;
  request.limits = *limits;
  request.progress = ProgressBar::Callback;
  request.progress_context = &progress;
  const absl::Status status = importer::ImportTrace(request);
  progress.Clear();
  if (absl::IsResourceExhausted(status)) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s. The conversion lies in %s: TMPDIR names another place, `countrace "
        "import -o` keeps it",
        status.message(), request.output));
  }
  if (!status.ok()) return status;
  return converted.emplace(path, *std::move(directory)).first->second->path();
}

}  // namespace countrace::cli
