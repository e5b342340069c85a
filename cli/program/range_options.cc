#include "cli/program/range_options.h"

#include <string>

#include "absl/strings/str_format.h"

namespace countrace::cli {

void AddRangeOptions(VerbParser& parser, RangeOptions& range, const char* to) {
  parser.AddText("--from", range.from);
  parser.AddText(to, range.to);
  parser.AddText("--at", range.at);
  parser.AddText("--around", range.around);
  parser.AddDuration("--window", range.window_ns);
}

absl::Status CheckRangeOptions(const VerbParser& parser,
                               const RangeOptions& range, const char* to) {
  const auto empty = [&](const char* option, const std::string& text) {
    return parser.is_given(option) && text.empty();
  };
  if (empty("--from", range.from) || empty(to, range.to) ||
      empty("--at", range.at) || empty("--around", range.around)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--from, %s, --at and --around need an instant: see "
                        "`help state instants`",
                        to));
  }
  if (!range.at.empty() && !range.around.empty()) {
    return absl::InvalidArgumentError(
        "--around and --at are the same: give one of them");
  }
  if (!range.middle().empty() && (!range.from.empty() || !range.to.empty())) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--at is the middle of --window: give it, or --from and %s", to));
  }
  if (range.middle().empty() && parser.is_given("--window")) {
    return absl::InvalidArgumentError("--window needs --at");
  }
  return absl::OkStatus();
}

}  // namespace countrace::cli
