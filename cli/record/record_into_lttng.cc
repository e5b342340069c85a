#include "cli/record/record_into_lttng.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/runtime_library.h"
#include "cli/program/verb.h"
#include "cli/record/record_exit.h"
#include "runtime/recorder/lttng/lttng_record.h"

namespace countrace::cli {
namespace {

// Options that LTTng cannot express, or has in a form of its own.
constexpr const char* kNotWithLttng[] = {
    "--all-cpus",      "--pid",
    "--hook-events",   "--rotate",
    "--dump",          "--mode",
    "--flight",        "--trigger",
    "--snapshots",     "--size",
    "--kernel",        "--hook",
    "--mark",          "--count",
    "--kernel-ring",   "--no-fault-records",
    "--best-effort",   "--dry-run-rules",
    "--wait-all",      "--format",
    "--args",          "--sample",
    "--signal-every",  "--offcpu",
    "--wakeup-stacks", "--call-graph",
    "--data",          "--max-cpu"};

}  // namespace

int RecordIntoLttng(const VerbParser& parser, const RecordCommandLine& line) {
  for (const char* option : kNotWithLttng) {
    if (!parser.is_given(option)) continue;
    return parser.UsageError(absl::StrFormat(
        "%s is not possible with --backend lttng: leave one of the two out",
        option));
  }
  const runtime::RecordOptions& record = line.record;
  if (record.command.empty()) {
    return parser.UsageError(
        "--backend lttng records a command: give one behind --");
  }
  auto library = FindLttngLibrary();
  if (!library.ok()) return ReportFailure(kRecordVerb.name, library.status());
  runtime::LttngRecordOptions lttng;
  lttng.output = record.output;
  lttng.force = record.force;
  lttng.command = record.command;
  lttng.duration_ns = record.duration_ns;
  lttng.events = SplitNames(line.events);
  lttng.hook_filter = record.hook_filter;
  lttng.sub_buffer_bytes = record.sub_buffer_bytes;
  lttng.sub_buffers = static_cast<std::uint32_t>(line.sub_buffers);
  lttng.kernel = !line.no_kernel;
  lttng.provider_library = *std::move(library);
  const auto result = runtime::RecordWithLttng(lttng);
  if (!result.ok()) {
    return RecordFailure(kRecordVerb.name, result.status());
  }
  const logformat::LossStatement loss = logformat::StateLoss(result->loss);
  if (!line.quiet || !loss.complete) {
    for (const std::string& message : result->messages) {
      Say(kRecordVerb.name, message);
    }
    Say(kRecordVerb.name,
        absl::StrFormat(
            "%s: an LTTng trace, %s, %s; %s", result->path,
            base::FormatBytes(result->bytes),
            base::FormatNanoseconds(static_cast<double>(result->elapsed_ns)),
            loss.text));
  }
  const int status = CommandExitStatus(result->command_status);
  if (status != 0) return status;
  return ExitOf(loss, line.fail_on_loss);
}

}  // namespace countrace::cli
