#include "cli/program/gating_options.h"

#include "absl/strings/str_format.h"

namespace countrace::cli {

std::optional<std::string> ParseGatingOptions(
    const std::string& count, const std::vector<std::string>& marks,
    std::optional<logformat::Gating>& gating,
    std::vector<logformat::MarkSpec>& specs) {
  if (!count.empty()) {
    gating = logformat::ParseGating(count);
    if (!gating) {
      return absl::StrFormat(
          "--count %s: not known; give user, kernel, marked, unmarked, "
          "separated by commas, all, none, or five bits (DIS DP DU DMS DMR)",
          count);
    }
  }
  auto parsed = logformat::ParseMarks(marks);
  if (!parsed.ok()) return std::string(parsed.status().message());
  specs = *std::move(parsed);
  return std::nullopt;
}

}  // namespace countrace::cli
