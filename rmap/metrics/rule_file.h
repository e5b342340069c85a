// Rule files (TOML) and rules on the command line.
//
//   [metric.cpi]
//   expr = "cycles / instructions"
//   unit = "ratio"                    # optional; checked
//   scope = ["process", "thread"]     # optional: every table with the names
//   description = "Cycles for each instruction."
//
// Untrusted: size and nesting are limited before anything recurses.
#ifndef COUNTRACE_RMAP_METRICS_RULE_FILE_H_
#define COUNTRACE_RMAP_METRICS_RULE_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "rmap/metrics/rule_set.h"

namespace countrace::rmap::metrics {

inline constexpr std::size_t kMaxRuleFileBytes = 256 * 1024;

// The shipped rules (default_metrics.toml), compiled in.
extern const char kDefaultMetrics[];
inline constexpr char kDefaultSource[] = "default";
// The file of a shipped tree (trees/*.toml): "cpi", "topdown", "topdown-arm64";
// empty: there is none.
std::string_view ShippedTree(std::string_view name);

// Adds the rules in a file's text. Errors: kInvalidArgument, FILE:LINE:COLUMN.
absl::Status AddRules(std::string_view text, const std::string& file,
                      RuleSet& rules);
// Reads `path`. Errors: also kNotFound, and those of reading.
absl::Status AddRuleFile(const std::string& path, RuleSet& rules);
absl::Status AddDefaultRules(RuleSet& rules);
// "name = expr".
absl::Status AddCommandLineRule(std::string_view text, RuleSet& rules);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_RULE_FILE_H_
