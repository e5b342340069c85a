// The traces that one run of a verb reads: countrace's traces directly, traces
// of other tools after a conversion into a private directory.
#ifndef COUNTRACE_CLI_TRACE_TRACE_INPUT_H_
#define COUNTRACE_CLI_TRACE_TRACE_INPUT_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/temporary_directory.h"
#include "cli/program/trace_options.h"
#include "logformat/import/program/import_process.h"
#include "logformat/read/trace_reader.h"

namespace countrace::cli {

// The limits that --import-limit chose. Errors: INVALID_ARGUMENT.
absl::StatusOr<importer::ImportLimits> ImportLimitsOf(
    const TraceOptions& options);

// Whether what is shown needs the times of a trace (TraceInfo::has_times).
enum class TimesUse { kNeeded, kNotNeeded };

// A trace is converted at most once; its conversion is removed with this
// object.
class TraceInput final {
 public:
  // Messages name `verb`. Both must outlive the object; `options` may still be
  // filled in after this.
  TraceInput(std::string_view verb, const TraceOptions& options)
      : verb_(verb), options_(options) {}

  // Prints on stderr if the recording of `path` has not finished. Errors: as
  // TraceReader::Open() and Directory(); FAILED_PRECONDITION: times are needed
  // and the trace has none.
  absl::StatusOr<std::unique_ptr<logformat::TraceReader>> Open(
      const std::string& path, TimesUse times = TimesUse::kNeeded);
  // The directory to read for `path`: itself, or its conversion, which the
  // first call makes. Errors: as ImportTrace().
  absl::StatusOr<std::string> Directory(const std::string& path);

  // True if reading and converting draw a progress bar.
  bool show_progress() const;

 private:
  const std::string_view verb_;
  const TraceOptions& options_;
  std::map<std::string, std::unique_ptr<base::TemporaryDirectory>> converted_;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_TRACE_TRACE_INPUT_H_
