// The ways in which functions of the kernel can be hooked on this machine.
//
// The one answer for `record` and `list functions kernel`. Thread: any, one at
// a time.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_FUNCTION_WAYS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_FUNCTION_WAYS_H_

#include <cstdint>
#include <string>

#include "runtime/recorder/kernel/functions/kernel_functions.h"

namespace countrace::runtime {

enum class FunctionWay : std::uint8_t {
  kNone,
  kTraced,  // fentry and fexit
  kProbed   // a kprobe, and one on its return
};

// Why not, with the kernel's option or the privilege that is missing; empty:
// this machine has it.
struct FunctionWays {
  std::string no_fentry, no_kprobe;
};

// The first call attaches a program that does nothing to MeasuredFunction(),
// for a moment.
const FunctionWays& FunctionWaysHere();

// How `function` is hooked. kNone: why not is added to its `why_not`.
FunctionWay ChooseWay(KernelFunction& function);

// A function that getppid(2) alone calls, by its name on this architecture;
// null: the kernel describes none.
const char* MeasuredFunction();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_FUNCTION_WAYS_H_
