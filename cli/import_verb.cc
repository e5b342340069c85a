#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/foreign_choice.h"
#include "cli/foreign_trace.h"
#include "cli/progress_bar.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "logformat/read/trace_reader.h"

namespace countrace::cli {
namespace {

constexpr VerbText kText = {
    .name = "import",
    .summary = "make a trace of what others recorded (LTTng, CTF 1.8, perf)",
    .usage = "[options] -o TRACE SOURCE...",
    .details =
        "SOURCE is a directory: a trace, or a session with traces below it. "
        "All\n"
        "are merged on one timeline, so that kernel and user space of one "
        "session\n"
        "are one trace. Or it is one perf.data file. Every verb reads such\n"
        "directories and files as they are, too, and converts them each time;\n"
        "`import` keeps what they are converted to.\n"
        "\n"
        "Events of LTTng's kernel tracer become dispatches, processes, system\n"
        "calls and interrupts; countrace:* and lttng_ust_cyg_profile events\n"
        "segments; of perf, switches, tasks, system calls, interrupts and "
        "counts\n"
        "read at switches; all others point hooks with their fields. A mapping "
        "file\n"
        "(TOML) says what is a segment besides:\n"
        "\n"
        "  [segment.\"shop:serve\"]         # calls in the tree of their "
        "thread\n"
        "  begin = \"shop:serve_begin\"\n"
        "  end = \"shop:serve_end\"\n"
        "  key = [\"order\"]                # optional: fields that must "
        "agree\n"
        "  across_threads = true          # optional: ends in any thread\n"
        "  [counter.\"bytes\"]              # a count that grows\n"
        "  field = \"tx_bytes\"\n"
        "  [point.\"shop:coin\"]            # another name\n"
        "  event = \"shop:tick\"\n"
        "\n"
        "`ignore = [\"GLOB\"]` at its top leaves events out. The traces are "
        "read\n"
        "in a process of its own, whose memory and time are limited\n"
        "(--import-limit). What the source could not know is said by\n"
        "`countrace info`.\n",
    .examples =
        "countrace import -o web.ctf ~/lttng-traces/web-20260101-120000\n"
        "countrace import --map shop.toml -o shop.ctf kernel/ ust/\n"
        "countrace import -o web.ctf perf.data\n"
        "\n"
        "# without keeping anything\n"
        "countrace report --map shop.toml ~/lttng-traces/shop\n",
};

}  // namespace

int RunImport(const Arguments& arguments) {
  VerbParser parser(kText);
  std::string output, first;
  bool force = false, no_progress = false;
  parser.AddReadTrace(first);
  parser.AddText("-o,--output", "TRACE", output, "the trace to make");
  parser.AddFlag("--force", force, "replace TRACE if it exists");
  parser.AddNoProgress(no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (first.empty()) {
    return parser.UsageError(
        "say what to import: a directory with a trace, or perf.data");
  }
  if (output.empty()) {
    return parser.UsageError("say which trace to make: -o TRACE");
  }
  const auto limits = ChosenLimits();
  if (!limits.ok()) {
    return parser.UsageError(std::string(limits.status().message()));
  }

  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(fs::symlink_status(output, error))) {
    if (!force) {
      return ReportFailure(kText.name,
                           absl::AlreadyExistsError(absl::StrFormat(
                               "%s exists; --force replaces it", output)));
    }
    // Only what a recording could have made.
    if (const auto old = logformat::TraceReader::Open(output); !old.ok()) {
      return ReportFailure(
          kText.name,
          absl::FailedPreconditionError(absl::StrFormat(
              "%s is no trace of countrace, so --force does not remove it",
              output)));
    }
    fs::remove_all(output, error);
  }
  if (mkdir(output.c_str(), 0700) != 0) {
    return ReportFailure(
        kText.name,
        absl::ErrnoToStatus(errno, absl::StrFormat("Cannot make %s", output)));
  }
  const ForeignChoice& choice = foreign_choice();
  ProgressBar progress("importing " + first, ShowProgress() && !no_progress);
  importer::ImportRequest request;
  request.sources = {first};
  request.sources.insert(request.sources.end(), choice.more_traces.begin(),
                         choice.more_traces.end());
  request.output = output;
  request.mapping_file = choice.mapping_file;
  request.limits = *limits;
  request.progress = ProgressBar::Callback;
  request.progress_context = &progress;
  const absl::Status status = importer::ImportTrace(request);
  progress.Clear();
  if (!status.ok()) {
    fs::remove_all(output, error);
    return ReportFailure(kText.name, status);
  }
  const auto made = logformat::TraceReader::Open(output);
  if (!made.ok()) return ReportFailure(kText.name, made.status());
  for (const std::string& what : (*made)->info().not_known) {
    Say(kText.name, "not known: " + what);
  }
  return kExitOk;
}

}  // namespace countrace::cli
