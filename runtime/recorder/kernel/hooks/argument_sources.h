// The locations of the values that a dump rule may compare at a kernel-side
// hook. Source for functions and system calls: the calling convention of this
// machine; for USDT probes: their note; for tracepoints: their format file.
//
// Thread: any. A value that is missing, or that has an unsupported description
// (a floating-point register, an address of a symbol), has the place
// COUNTRACE_VALUE_UNKNOWN.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCES_H_

#include <string>
#include <vector>

#include "runtime/recorder/kernel/hooks/argument_source.h"

namespace countrace::runtime {

// At the first instruction of a function: integers and pointers in registers,
// with 64 bits, signed. The upper bits of a narrower parameter have the value
// that the caller left there.
countrace_argument_sources FunctionSources();

// The first arguments of a function of the kernel, as its programs hand them
// on: 64 bits each, signed.
countrace_argument_sources KernelFunctionSources();

// `compat`: for a 32-bit program (x86), whose registers are narrower.
countrace_argument_sources SystemCallSources(bool compat);

// arg0: the address, arg1: the error code (x86).
countrace_argument_sources FaultSources();

// `arguments` of a note: "-4@%eax 8@16(%rbp)".
countrace_argument_sources UsdtSources(const std::string& arguments);

// `format` of a tracepoint: its own fields, in order. Texts and arrays are
// unknown.
countrace_argument_sources TracepointSources(const std::string& format);

// One description for each argument of a note.
std::vector<std::string> SplitUsdtArguments(const std::string& arguments);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCES_H_
