// Which functions of a library written in C may call back.
//
// A callback of a C++ program may throw through them, and unwinding ends the
// program where a return probe has replaced the return address: a library's
// function that calls a pointer, itself or in what it calls, is such a one.
// Programs in C have no exceptions of their own.
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
bool MayCallBack(const std::string& path, const ObjectFunctions& object,
                 const FunctionSymbol& function);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CALLBACKS_H_
