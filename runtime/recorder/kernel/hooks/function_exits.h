// How the end of a function's calls can be recorded without changing what its
// program does.
//
// A return probe replaces the return address on the stack. So it kills programs
// that read or move return addresses: the runtime of Go (golang/go#22008),
// unwinding by exceptions and panics, coroutines, setjmp. It destroys data
// where the word on top of the stack is none: `_start` has argc there. Where
// exceptions may pass, probes on the instructions that leave the function do
// the same; where those are not known, the calls' begins alone are recorded.
// Stacks are also unwound through functions of C libraries (callbacks.h).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_EXITS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_EXITS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/recorder/kernel/hooks/function_symbols.h"

namespace countrace::runtime {

struct FunctionExits {
  enum class Way : std::uint8_t {
    kReturnProbe,
    kInstructions,
    // The calls' begins alone, because:
    kGo,         // of Go
    kNotCalled,  // its own return address is not where a call leaves one, or is
                 // used after it has returned
    kSwitches,   // its program switches stacks
    kUnknown     // exceptions may pass, and its code cannot be followed
  };
  Way way = Way::kReturnProbe;
  std::vector<std::uint64_t> offsets;  // of kInstructions, in the file

  bool is_segment() const {
    return way == Way::kReturnProbe || way == Way::kInstructions;
  }
};

// `path`: the file of `object`, which has `function`.
FunctionExits ExitsOf(const std::string& path, const ObjectFunctions& object,
                      const FunctionSymbol& function);

// The instructions that leave the function: returns, and jumps into other
// functions. The first part has its begin. Absent: not known, because of an
// indirect jump of an unknown kind, bytes that are no instructions, a
// conditional jump that leaves, or a build without libcapstone.
std::optional<std::vector<std::uint64_t>> LeavingInstructions(
    std::span<const FunctionPart> parts);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_EXITS_H_
