// Functions of the C library through whose callers the stack may be unwound.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_UNWOUND_FUNCTIONS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_UNWOUND_FUNCTIONS_H_

#include <string_view>

namespace countrace::runtime {

// Whether it calls functions of its caller, which may throw: "qsort".
bool CallsBack(std::string_view symbol);

// Whether it ends its thread, or is a cancellation point (pthreads(7)) that
// waits for something: `pthread_exit` and `pthread_cancel` unwind the thread's
// stack and run what stands in its frames: destructors, cleanup handlers.
bool MayEndThread(std::string_view symbol);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_UNWOUND_FUNCTIONS_H_
