// `--count` and `--mark` of `record` and `report`.
#ifndef COUNTRACE_CLI_PROGRAM_GATING_OPTIONS_H_
#define COUNTRACE_CLI_PROGRAM_GATING_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "logformat/mark_spec.h"
#include "logformat/rules/gating.h"

namespace countrace::cli {

// Empty `count`: not given. Returns the error in them, or nullopt.
std::optional<std::string> ParseGatingOptions(
    const std::string& count, const std::vector<std::string>& marks,
    std::optional<logformat::Gating>& gating,
    std::vector<logformat::MarkSpec>& specs);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_GATING_OPTIONS_H_
