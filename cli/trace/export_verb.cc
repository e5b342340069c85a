#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/temporary_directory.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/instant.h"
#include "cli/program/interruption.h"
#include "cli/program/progress_bar.h"
#include "cli/program/range_options.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/trace_input.h"
#include "viewer/index/open/open_or_build.h"
#include "viewer/offline/index_module.h"
#include "viewer/offline/page_file.h"
#include "viewer/offline/page_samples.h"

namespace countrace::cli {
namespace {

// The end of a part; --to is the format.
constexpr char kUntil[] = "--until";

// Whether `output` may be written.
absl::Status CheckOutput(const std::string& output, bool force) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status there = fs::symlink_status(output, error);
  if (!fs::exists(there)) return absl::OkStatus();
  if (!force) {
    return absl::AlreadyExistsError(
        absl::StrFormat("%s exists; --force replaces it", output));
  }
  if (!fs::is_regular_file(there)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is no regular file, so --force does not replace it", output));
  }
  return absl::OkStatus();
}

int RunExport(const Arguments& arguments) {
  VerbParser parser(kExportVerb);
  TraceOptions options;
  TraceInput input(kExportVerb.name, options);
  std::string format, output;
  RangeOptions wanted;
  bool force = false;
  parser.AddReadTrace(options);
  parser.AddChoice("--to", format, {"html"});
  AddRangeOptions(parser, wanted, kUntil);
  parser.AddText("--output", output);
  parser.AddFlag("--force", force);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (format.empty()) return parser.UsageError("say what to make: --to html");
  if (output.empty()) {
    return parser.UsageError("say which file to make: -o FILE");
  }
  if (const absl::Status range = CheckRangeOptions(parser, wanted, kUntil);
      !range.ok()) {
    return parser.UsageError(std::string(range.message()));
  }
  if (const absl::Status free = CheckOutput(output, force); !free.ok()) {
    return ReportFailure(kExportVerb.name, free);
  }

  const auto reader = input.Open(options.trace);
  if (!reader.ok()) return ReportFailure(kExportVerb.name, reader.status());
  const auto directory = input.Directory(options.trace);
  if (!directory.ok()) {
    return ReportFailure(kExportVerb.name, directory.status());
  }
  // Before the index is made, which may take long.
  if (const absl::Status built = viewer::CheckModule(viewer::IndexModule());
      !built.ok()) {
    return ReportFailure(kExportVerb.name, built);
  }
  rmap::TableRange range;
  if (wanted.given()) {
    const auto parsed = ParseRange(wanted, ExtentOf(**reader));
    if (!parsed.ok()) {
      return parser.UsageError(std::string(parsed.status().message()));
    }
    range = {parsed->from_ns, parsed->to_ns};
  }
  const InterruptionGuard guard;
  std::unique_ptr<base::TemporaryDirectory> folder;
  if (wanted.given()) {
    auto made = base::TemporaryDirectory::Create("export");
    if (!made.ok()) return ReportFailure(kExportVerb.name, made.status());
    folder = *std::move(made);
  }
  ProgressBar indexing("indexing " + options.trace, input.show_progress());
  const auto index = folder == nullptr
                         ? viewer::OpenOrBuildIndex(
                               *directory, indexing.Callback(), options.trace)
                         : viewer::BuildIndexOfRange(
                               *directory, range, folder->path() + "/part.pvx",
                               indexing.Callback(), options.trace);
  indexing.Clear();
  if (!index.ok()) return ReportFailure(kExportVerb.name, index.status());
  ProgressBar sampling("naming functions of " + options.trace,
                       input.show_progress());
  auto samples = viewer::SamplesForPage(**reader, range, sampling.Callback());
  sampling.Clear();
  if (!samples.ok()) return ReportFailure(kExportVerb.name, samples.status());
  ProgressBar writing("writing " + output, input.show_progress());
  const absl::Status written =
      viewer::WritePageFile(**index, {.path = output,
                                      .module = viewer::IndexModule(),
                                      .samples = *std::move(samples),
                                      .progress = writing.Callback()});
  writing.Clear();
  if (!written.ok()) return ReportFailure(kExportVerb.name, written);
  return kExitOk;
}

}  // namespace

const Verb kExportVerb = {"export", kExportHelp, RunExport};

}  // namespace countrace::cli
