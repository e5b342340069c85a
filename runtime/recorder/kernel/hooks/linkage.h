// Stubs through which a file calls functions of other files (.plt).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_LINKAGE_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_LINKAGE_H_

#include <gelf.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/recorder/kernel/hooks/code_range.h"

namespace countrace::runtime {

// What a stub calls.
struct LinkedFunction {
  std::string name;
  bool of_c_library = false;  // by the version of its symbol
};

struct Linkage {
  std::vector<CodeRange> ranges;
  // By the offset of the stub in the file. Of x86-64 only; a stub that is not
  // here may call anything.
  std::map<std::uint64_t, LinkedFunction> functions;
};

Linkage ReadLinkage(Elf* elf);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_LINKAGE_H_
