// `countrace record --dry-run-rules TRACE --dump RULE...`: the dumps that the
// rules would have selected in an existing trace.
#ifndef COUNTRACE_CLI_RECORD_DUMP_RULES_DRY_RUN_H_
#define COUNTRACE_CLI_RECORD_DUMP_RULES_DRY_RUN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/rules/dump_rule_text.h"

namespace countrace::cli {

struct DryRun {
  std::string trace;
  std::vector<runtime::DumpRule> rules;  // not empty
  std::size_t counters = 0;  // in each dump; 0: the number in the trace
  std::string format;        // as RowTable::Render()
};

// Prints one row for each rule, one for hooks without a rule, and the total.
// Returns: the exit status.
int DryRunDumpRules(const DryRun& dry_run);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_RECORD_DUMP_RULES_DRY_RUN_H_
