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

struct Linkage {
  std::vector<CodeRange> ranges;
  // What a stub calls, by its offset in the file. Of x86-64 only; a stub that
  // is not here may call anything.
  std::map<std::uint64_t, std::string> names;
};

Linkage ReadLinkage(Elf* elf);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_LINKAGE_H_
