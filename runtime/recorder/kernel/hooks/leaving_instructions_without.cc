// LeavingInstructions() and CallsOf() in a build without libcapstone.
#include "runtime/recorder/kernel/hooks/callbacks.h"
#include "runtime/recorder/kernel/hooks/function_exits.h"

namespace countrace::runtime {

std::optional<std::vector<std::uint64_t>> LeavingInstructions(
    std::span<const FunctionPart>) {
  return std::nullopt;
}

CodeCalls CallsOf(const FunctionPart&) { return {}; }

}  // namespace countrace::runtime
