// The dump rules that cannot work with the hooks of a trace. Printed after a
// recording and after a dry run, so that a rule that never dumps is noticed.
#ifndef COUNTRACE_RUNTIME_RULES_RULE_REMARKS_H_
#define COUNTRACE_RUNTIME_RULES_RULE_REMARKS_H_

#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "runtime/rules/dump_rule_text.h"

namespace countrace::runtime {

// One sentence for each rule that applies to no hook, and for each hook whose
// payload can never fulfil a rule's comparison. Names in it are as in the
// trace.
std::vector<std::string> RuleRemarks(
    const std::vector<DumpRule>& rules,
    const std::vector<logformat::HookInfo>& hooks);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_RULE_REMARKS_H_
