#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/temporary_directory.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/instant.h"
#include "cli/program/interruption.h"
#include "cli/program/progress_bar.h"
#include "cli/program/range_options.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/trace_input.h"
#include "cli/verbs/table_export.h"
#include "logformat/description/trace_description.h"
#include "viewer/index/open/open_or_build.h"
#include "viewer/offline/index_module.h"
#include "viewer/offline/page_file.h"
#include "viewer/offline/page_samples.h"
#include "viewer/server/tables/trace_notes.h"

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

struct ExportOptions {
  TraceOptions trace;
  TableExport tables;  // of all formats
  bool force = false;
  bool with_ids = false;  // --to html
};

// --to html.
int ExportPage(const VerbParser& parser, const ExportOptions& options,
               TraceInput& input) {
  const std::string& trace = options.trace.trace;
  const RangeOptions& wanted = options.tables.range;
  const std::string& output = options.tables.output;
  const auto reader = input.Open(trace);
  if (!reader.ok()) return ReportFailure(kExportVerb.name, reader.status());
  const auto directory = input.Directory(trace);
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
  ProgressBar indexing("indexing " + trace, input.show_progress());
  const auto index =
      folder == nullptr
          ? viewer::OpenOrBuildIndex(*directory, indexing.Callback(), trace)
          : viewer::BuildIndexOfRange(*directory, range,
                                      folder->path() + "/part.pvx",
                                      indexing.Callback(), trace);
  indexing.Clear();
  if (!index.ok()) return ReportFailure(kExportVerb.name, index.status());
  ProgressBar sampling("naming functions of " + trace, input.show_progress());
  auto samples = viewer::SamplesForPage(**reader, range, sampling.Callback());
  sampling.Clear();
  if (!samples.ok()) return ReportFailure(kExportVerb.name, samples.status());
  const auto notes = viewer::ReadNotes(*directory, (*index)->header().trace);
  if (!notes.ok()) {
    Say(kExportVerb.name, "no notes: " + std::string(notes.status().message()));
  }
  auto ids = logformat::IdsOf((*reader)->info());
  if (!options.with_ids) ids.clear();
  ProgressBar writing("writing " + output, input.show_progress());
  const absl::Status written = viewer::WritePageFile(
      **index, {.path = output,
                .module = viewer::IndexModule(),
                .samples = *std::move(samples),
                .notes = notes.ok() ? notes->dump() : "[]",
                .ids = ids,
                .progress = writing.Callback()});
  writing.Clear();
  if (!written.ok()) return ReportFailure(kExportVerb.name, written);
  return kExitOk;
}

// Errors: INVALID_ARGUMENT: options that do not belong together.
absl::Status CheckOptions(const VerbParser& parser,
                          const ExportOptions& options) {
  const TableExport& tables = options.tables;
  const bool text = tables.is_text_table();
  std::string message;
  if (tables.format.empty()) {
    message =
        "say what to make: --to html, sqlite, csv, jsonl, folded, pprof, "
        "callgrind or perfetto";
  } else if (tables.output.empty() && !tables.is_text()) {
    message = "say which file to make: -o FILE";
  } else if (text && tables.table.empty()) {
    message = "say which table: --table with one of " +
              absl::StrJoin(TableNames(), ", ");
  } else if (!text && !tables.table.empty()) {
    message = "--table is for --to csv and jsonl, which hold one";
  } else if (tables.is_profile() == tables.weight.empty()) {
    message =
        "--weight is for --to folded, pprof and callgrind, which need "
        "it: on-cpu, off-cpu, wall, blocked or an event";
  } else if (!text && !tables.is_profile() &&
             !(tables.process + tables.thread + tables.where).empty()) {
    message = "--process, --thread and --where are not for --to " +
              tables.format + ", which holds all: choose there";
  } else if (tables.format == "perfetto" && tables.range.given()) {
    message = "--from, --until and --at are not for --to perfetto";
  } else if (options.with_ids && tables.format != "html") {
    message = "--with-ids is for --to html; the others have them in `meta`";
  } else if (!text && !tables.where.empty()) {
    message = "--where is for --to csv and jsonl";
  } else {
    return CheckRangeOptions(parser, tables.range, kUntil);
  }
  return absl::InvalidArgumentError(message);
}

int RunExport(const Arguments& arguments) {
  VerbParser parser(kExportVerb);
  ExportOptions options;
  TraceInput input(kExportVerb.name, options.trace);
  parser.AddReadTrace(options.trace);
  parser.AddChoice("--to", options.tables.format,
                   {"html", "sqlite", "csv", "jsonl", "folded", "pprof",
                    "callgrind", "perfetto"});
  parser.AddChoice("--table", options.tables.table, TableNames());
  parser.AddText("--weight", options.tables.weight);
  AddRangeOptions(parser, options.tables.range, kUntil);
  parser.AddText("--process", options.tables.process);
  parser.AddText("--thread", options.tables.thread);
  parser.AddText("--where", options.tables.where);
  parser.AddText("--output", options.tables.output);
  parser.AddFlag("--no-texts", options.tables.no_texts);
  parser.AddFlag("--with-ids", options.with_ids);
  parser.AddFlag("--force", options.force);
  parser.AddText("--pairs", options.trace.pairs);
  parser.AddNoProgress(options.trace.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (options.tables.output == "-") options.tables.output.clear();
  if (const absl::Status fits = CheckOptions(parser, options); !fits.ok()) {
    return parser.UsageError(std::string(fits.message()));
  }
  const auto hosts = GivenHosts(options.trace);
  if (!hosts.ok()) return parser.Fail(hosts.status());
  const bool of_hosts = !hosts->empty() || !options.trace.pairs.empty();
  if (of_hosts && !options.tables.is_tables()) {
    return parser.UsageError(absl::StrFormat(
        "--to %s holds one trace: --to sqlite, csv and jsonl take those of "
        "several hosts",
        options.tables.format));
  }
  const std::string& output = options.tables.output;
  if (!output.empty()) {
    const absl::Status free = CheckOutput(output, options.force);
    if (!free.ok()) return ReportFailure(kExportVerb.name, free);
  }
  if (options.tables.format == "html") {
    return ExportPage(parser, options, input);
  }
  const absl::Status written =
      ExportAsTables(options.trace, options.tables, input);
  return written.ok() ? kExitOk : parser.Fail(written);
}

}  // namespace

const Verb kExportVerb = {"export", kExportHelp, RunExport};

}  // namespace countrace::cli
