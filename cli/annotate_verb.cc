#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/posix/output_width.h"
#include "base/posix/small_file.h"
#include "base/text/name_escape.h"
#include "cli/annotation_text.h"
#include "cli/exit_status.h"
#include "cli/help_texts.h"
#include "cli/interruption.h"
#include "cli/range_options.h"
#include "cli/report_request.h"
#include "cli/sample_input.h"
#include "cli/trace_input.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "rmap/samples/annotation.h"
#include "rmap/samples/disassembly.h"
#include "rmap/samples/function_rows.h"

namespace countrace::cli {
namespace {

struct AnnotateOptions {
  TraceOptions trace;
  RangeOptions range;
  std::string function, dso, process, only, format;
  bool all = false, wide = false, fail_on_loss = false;
};

// A regular file of a sensible size. Its name comes from debug information.
ListedFile ReadSource(const std::string& path) {
  constexpr off_t kMostBytes = off_t{16} << 20;
  ListedFile file;
  struct stat status;
  if (path.empty() || path.front() != '/' || stat(path.c_str(), &status) != 0 ||
      !S_ISREG(status.st_mode) || status.st_size > kMostBytes) {
    return file;
  }
  const auto text = base::ReadSmallFile(path);
  if (!text.ok()) return file;
  file.is_here = true;
  file.lines = absl::StrSplit(*text, '\n');
  if (!file.lines.empty() && file.lines.back().empty()) file.lines.pop_back();
  return file;
}

bool IsNewer(const std::string& path, const std::string& other) {
  struct stat one, two;
  return stat(path.c_str(), &one) == 0 && stat(other.c_str(), &two) == 0 &&
         (one.st_mtim.tv_sec > two.st_mtim.tv_sec ||
          (one.st_mtim.tv_sec == two.st_mtim.tv_sec &&
           one.st_mtim.tv_nsec > two.st_mtim.tv_nsec));
}

void ReadSources(Listing& listing) {
  for (const rmap::AnnotatedLine& line : listing.annotation.lines) {
    if (line.file.empty() || listing.sources.contains(line.file)) continue;
    ListedFile file = ReadSource(line.file);
    if (!file.is_here) {
      listing.notes.push_back(
          absl::StrFormat("%s is not here: its lines have numbers, but no text",
                          base::EscapeName(line.file)));
    } else if (IsNewer(line.file, listing.annotation.dso.path)) {
      listing.notes.push_back(absl::StrFormat(
          "%s was changed after %s was built: its lines may be others",
          base::EscapeName(line.file),
          base::EscapeName(listing.annotation.dso.path)));
    }
    listing.sources.emplace(line.file, std::move(file));
  }
}

// Errors: of the disassembler.
absl::Status ListInstructions(Listing& listing) {
  const rmap::Annotation& annotation = listing.annotation;
  if (annotation.ranges.empty()) {
    listing.notes.push_back(
        absl::StrFormat("no instructions: %s is no file with symbols here",
                        base::EscapeName(annotation.dso.path)));
    return absl::OkStatus();
  }
  rmap::Symbolizer symbolizer;
  for (const rmap::CodeRange& range : annotation.ranges) {
    auto instructions = rmap::Disassemble(range);
    if (!instructions.ok()) return instructions.status();
    for (rmap::Instruction& one : *instructions) {
      auto names = symbolizer.NamesAt(annotation.dso, one.address);
      // A function that it is inlined into has other code, too.
      if (std::none_of(names.begin(), names.end(),
                       [&](const rmap::CodeName& name) {
                         return name.function == annotation.function;
                       })) {
        continue;
      }
      listing.instructions.push_back(
          {std::move(one), std::move(names.front())});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Listing> Make(const AnnotateOptions& options,
                             const SampleInput& input) {
  const rmap::Samples& samples = *input.report.samples;
  auto annotation = rmap::Annotate(samples, {.function = options.function,
                                             .dso = options.dso,
                                             .chosen = input.chosen});
  if (!annotation.ok()) return annotation.status();
  Listing listing;
  listing.samples = &samples;
  listing.annotation = *std::move(annotation);
  if (options.only != "instructions") ReadSources(listing);
  if (options.only != "lines") {
    const absl::Status listed = ListInstructions(listing);
    if (absl::IsNotFound(listed)) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s, which shows instructions (Debian's package binutils has it); "
          "--only lines does without",
          listed.message()));
    }
    if (!listed.ok()) return listed;
  }
  if (options.only == "instructions") listing.annotation.lines.clear();
  return listing;
}

int RunAnnotate(const Arguments& arguments) {
  VerbParser parser(kAnnotateVerb);
  AnnotateOptions options;
  parser.AddPositional("function", options.function);
  parser.AddReadTrace(options.trace);
  parser.AddText("--dso", options.dso);
  parser.AddText("--process", options.process);
  AddRangeOptions(parser, options.range);
  parser.AddChoice("--only", options.only, {"lines", "instructions"});
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
  if (const absl::Status range = CheckRangeOptions(parser, options.range);
      !range.ok()) {
    return parser.UsageError(std::string(range.message()));
  }

  const InterruptionGuard guard;
  TraceInput traces(kAnnotateVerb.name, options.trace);
  const auto input = ReadSamples({.verb = kAnnotateVerb.name,
                                  .input = &traces,
                                  .trace = options.trace.trace,
                                  .range = options.range,
                                  .process = options.process});
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
          ? ListingJson(*listing)
          : ListingText(*listing, options.all,
                        options.wide ? base::kAnyWidth
                                     : base::OutputWidth(STDOUT_FILENO)),
      lost && options.fail_on_loss ? kExitLoss : kExitOk);
}

}  // namespace

const Verb kAnnotateVerb = {"annotate", kAnnotateHelp, RunAnnotate};

}  // namespace countrace::cli
