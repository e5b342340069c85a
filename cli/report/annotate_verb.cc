#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/posix/output_width.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/interruption.h"
#include "cli/program/range_options.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/report/annotation_text.h"
#include "cli/report/report_request.h"
#include "cli/report/sample_input.h"
#include "cli/trace/trace_input.h"
#include "rmap/samples/code/listing.h"
#include "rmap/samples/code/listing_json.h"
#include "rmap/samples/sums/event_books.h"
#include "viewer/server/api/source_files.h"

namespace countrace::cli {
namespace {

struct AnnotateOptions {
  TraceOptions trace;
  ReportRequest request;
  std::string function, dso, only, format;
  std::vector<std::string> sources;
  bool all = false, wide = false, fail_on_loss = false;
};

absl::StatusOr<rmap::Listing> Make(const AnnotateOptions& options,
                                   const SampleInput& input) {
  const auto sources = viewer::SourceFiles::Open(options.sources);
  if (!sources.ok()) return sources.status();
  auto listing = rmap::MakeListing(*input.report.samples,
                                   {.annotation = {.function = options.function,
                                                   .dso = options.dso,
                                                   .chosen = input.chosen},
                                    .lines = options.only != "instructions",
                                    .instructions = options.only != "lines",
                                    .sources = sources->Texts()});
  if (!listing.ok()) return listing.status();
  if (!listing->disassembler.ok()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s; --only lines does without", listing->disassembler.message()));
  }
  return listing;
}

int RunAnnotate(const Arguments& arguments) {
  VerbParser parser(kAnnotateVerb);
  AnnotateOptions options;
  parser.AddPositional("function", options.function);
  parser.AddReadTrace(options.trace);
  parser.AddText("--dso", options.dso);
  parser.AddText("--process", options.request.process);
  parser.AddText("--thread", options.request.thread);
  AddRangeOptions(parser, options.request.range);
  parser.AddChoice("--only", options.only, {"lines", "instructions"});
  parser.AddTexts("--source", options.sources);
  parser.AddFlag("--all", options.all);
  parser.AddFlag("--wide", options.wide);
  parser.AddFormat(options.format, {"text", "json"});
  parser.AddFailOnLoss(options.fail_on_loss);
  parser.AddNoProgress(options.trace.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (options.function.empty()) {
    return parser.UsageError(
        "say which function: `countrace report --by function` names them");
  }
  if (const absl::Status range =
          CheckRangeOptions(parser, options.request.range);
      !range.ok()) {
    return parser.UsageError(std::string(range.message()));
  }

  const InterruptionGuard guard;
  TraceInput traces(kAnnotateVerb.name, options.trace);
  options.request.input = &traces;
  options.request.trace = options.trace.trace;
  const auto input = ReadSamples(options.request);
  if (!input.ok() && IsUsage(input.status())) {
    return parser.UsageError(std::string(input.status().message()));
  }
  if (!input.ok()) return ReportFailure(kAnnotateVerb.name, input.status());
  if (input->report.interrupted) return kExitInterrupted;
  const auto listing = Make(options, *input);
  if (!listing.ok()) {
    return ReportFailure(kAnnotateVerb.name, listing.status());
  }
  bool lost = AnswerOf(input->report, "").has_loss;
  for (const rmap::SampleBooks& books :
       rmap::SampleBooksOf(*input->report.samples)) {
    lost |= books.lost + books.stacks_lost != 0;
  }
  return PrintData(
      kAnnotateVerb.name,
      options.format == "json"
          // Names of files may be no UTF-8.
          ? rmap::ListingJson(*listing).dump(
                1, ' ', false,
                nlohmann::ordered_json::error_handler_t::replace) +
                "\n"
          : ListingText(*listing, options.all,
                        options.wide ? base::kAnyWidth
                                     : base::OutputWidth(STDOUT_FILENO)),
      lost && options.fail_on_loss ? kExitLoss : kExitOk);
}

}  // namespace

const Verb kAnnotateVerb = {"annotate", kAnnotateHelp, RunAnnotate};

}  // namespace countrace::cli
