#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/pending_file.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/interruption.h"
#include "cli/program/progress_bar.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/trace_input.h"
#include "logformat/read/trace_reader.h"
#include "logformat/vocabularies/oprofile_files.h"

namespace countrace::cli {
namespace {

int ImportOprofile(const std::string& folder, const std::string& output,
                   bool force) {
  std::error_code error;
  if (!force && std::filesystem::exists(output, error)) {
    return ReportFailure(kImportVerb.name,
                         absl::AlreadyExistsError(absl::StrFormat(
                             "%s exists; --force replaces it", output)));
  }
  const auto texts = logformat::ReadOprofileFolder(folder);
  if (!texts.ok()) return ReportFailure(kImportVerb.name, texts.status());
  const auto text = logformat::OprofileAsVocabulary(*texts, folder);
  if (!text.ok()) return ReportFailure(kImportVerb.name, text.status());
  base::PendingFile file(output);
  absl::Status status = file.Create();
  if (status.ok()) status = file.Append(*text);
  if (status.ok()) status = file.Commit();
  return status.ok() ? kExitOk : ReportFailure(kImportVerb.name, status);
}

int RunImport(const Arguments& arguments) {
  VerbParser parser(kImportVerb);
  std::string output, oprofile;
  bool force = false;
  TraceOptions options;
  options.trace.clear();
  parser.AddReadTrace(options);
  parser.AddText("--output", output);
  parser.AddText("--oprofile", oprofile);
  parser.AddFlag("--force", force);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (!oprofile.empty()) {
    if (!options.trace.empty() || output.empty()) {
      return parser.UsageError("--oprofile DIR takes -o FILE.toml, no SOURCE");
    }
    return ImportOprofile(oprofile, output, force);
  }
  if (options.trace.empty()) {
    return parser.UsageError(
        "say what to import: a directory with a trace, or perf.data");
  }
  if (output.empty()) {
    return parser.UsageError("say which trace to make: -o TRACE");
  }
  const auto limits = ImportLimitsOf(options);
  if (!limits.ok()) {
    return parser.UsageError(std::string(limits.status().message()));
  }

  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(fs::symlink_status(output, error))) {
    if (!force) {
      return ReportFailure(kImportVerb.name,
                           absl::AlreadyExistsError(absl::StrFormat(
                               "%s exists; --force replaces it", output)));
    }
    // Replace only a directory that a recording could have made.
    if (const auto old = logformat::TraceReader::Open(output); !old.ok()) {
      return ReportFailure(
          kImportVerb.name,
          absl::FailedPreconditionError(absl::StrFormat(
              "%s is no trace of countrace, so --force does not remove it",
              output)));
    }
    fs::remove_all(output, error);
  }
  // Half a trace is removed, also after Ctrl-C.
  const InterruptionGuard guard;
  if (mkdir(output.c_str(), 0700) != 0) {
    return ReportFailure(
        kImportVerb.name,
        base::OutputStatus(errno, absl::StrFormat("Cannot make %s", output)));
  }
  ProgressBar progress("importing " + options.trace,
                       ShowProgress() && !options.no_progress);
  importer::ImportRequest request;
  request.sources = {options.trace};
  request.sources.insert(request.sources.end(), options.more_traces.begin(),
                         options.more_traces.end());
  request.output = output;
  request.mapping_file = options.mapping_file;
  request.limits = *limits;
  request.progress = progress.Callback();
  request.say = [](const std::string& text) { Say(kImportVerb.name, text); };
  const absl::Status status = importer::ImportTrace(request);
  progress.Clear();
  if (!status.ok()) {
    fs::remove_all(output, error);
    return ReportFailure(kImportVerb.name, status);
  }
  const auto made = logformat::TraceReader::Open(output);
  if (!made.ok()) return ReportFailure(kImportVerb.name, made.status());
  for (const std::string& what : (*made)->info().not_known) {
    Say(kImportVerb.name, "not known: " + what);
  }
  return kExitOk;
}

}  // namespace

const Verb kImportVerb = {"import", kImportHelp, RunImport};

}  // namespace countrace::cli
