#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "logformat/packet_layout.h"

namespace countrace::cli {
namespace {

constexpr VerbText kText = {
    .name = "version",
    .summary = "print the version of the program and of its trace format",
    .usage = "",
    .details = "",
    .examples = "",
};

}  // namespace

int RunVersion(const Arguments& arguments) {
  VerbParser parser(kText);
  if (const auto status = parser.Parse(arguments)) return *status;
  return PrintData(
      kText.name,
      absl::StrFormat("countrace %s, trace format %d\n", COUNTRACE_VERSION,
                      logformat::kFormatVersion));
}

}  // namespace countrace::cli
