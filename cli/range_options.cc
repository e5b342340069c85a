#include "cli/range_options.h"

#include <string>

namespace countrace::cli {

void AddRangeOptions(VerbParser& parser, RangeOptions& range) {
  parser.AddText("--from", range.from);
  parser.AddText("--to", range.to);
  parser.AddText("--at", range.at);
  parser.AddDuration("--window", range.window_ns);
}

absl::Status CheckRangeOptions(const VerbParser& parser,
                               const RangeOptions& range) {
  const auto empty = [&](const char* option, const std::string& text) {
    return parser.is_given(option) && text.empty();
  };
  if (empty("--from", range.from) || empty("--to", range.to) ||
      empty("--at", range.at)) {
    return absl::InvalidArgumentError(
        "--from, --to and --at need an instant: see `help state instants`");
  }
  if (!range.at.empty() && (!range.from.empty() || !range.to.empty())) {
    return absl::InvalidArgumentError(
        "--at is the middle of --window: give it, or --from and --to");
  }
  if (range.at.empty() && parser.is_given("--window")) {
    return absl::InvalidArgumentError("--window needs --at");
  }
  return absl::OkStatus();
}

}  // namespace countrace::cli
