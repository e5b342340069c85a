#include "cli/open_trace.h"

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/foreign_trace.h"

namespace countrace::cli {

absl::StatusOr<std::unique_ptr<logformat::TraceReader>> OpenTrace(
    std::string_view verb, const std::string& path) {
  const auto directory = TraceToRead(path);
  if (!directory.ok()) return directory.status();
  auto reader = logformat::TraceReader::Open(*directory, /*shown_as=*/path);
  if (!reader.ok()) return reader;
  const logformat::TraceInfo& info = (*reader)->info();
  if (info.recording) {
    Say(verb,
        absl::StrFormat("%s is still being recorded; this is what it holds now",
                        path));
  } else if (!info.finished) {
    Say(verb, absl::StrFormat("the recorder of %s died; what it had stored is "
                              "read, `countrace recover %s` makes it a "
                              "finished trace",
                              path, path));
  }
  return reader;
}

}  // namespace countrace::cli
