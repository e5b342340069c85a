// Which functions of a library written in C may be unwound.
//
// A callback of a C++ program may throw through them, and the end of a thread
// unwinds them where it waits. Where a return probe has replaced the return
// address, the first ends the program, and the second leaves out destructors. A
// library's function that calls a pointer, itself or in what it calls, is such
// a one, or that calls a function of the C library by which stacks are unwound
// (unwound_functions.h). Programs in C have no exceptions of their own.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CALLBACKS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CALLBACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/recorder/kernel/hooks/function_symbols.h"

namespace countrace::runtime {

struct CodeCalls {
  bool is_known = false;         // could be disassembled
  bool through_pointer = false;  // that is in a register or in memory
  // Offsets that it calls, or jumps to, outside of itself.
  std::vector<std::uint64_t> targets;
};

// What `part` calls. Nothing is known of other machines than x86-64, or in a
// build without libcapstone.
CodeCalls CallsOf(const FunctionPart& part);

// False if nothing is known (CallsOf()), and for programs. True where what is
// called cannot be followed. In the C library it is a matter of names.
bool MayBeUnwound(const std::string& path, const ObjectFunctions& object,
                  const FunctionSymbol& function);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CALLBACKS_H_
