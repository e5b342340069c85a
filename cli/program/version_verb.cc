#include "absl/strings/str_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "logformat/description/recorded_part.h"

namespace countrace::cli {
namespace {

int RunVersion(const Arguments& arguments) {
  VerbParser parser(kVersionVerb);
  if (const auto status = parser.Parse(arguments)) return *status;
  return PrintData(
      kVersionVerb.name,
      absl::StrFormat("countrace %s, trace format %d\n", COUNTRACE_VERSION,
                      logformat::kPauseFormatVersion));
}

}  // namespace

const Verb kVersionVerb = {"version", kVersionHelp, RunVersion};

}  // namespace countrace::cli
