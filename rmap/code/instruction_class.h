// Classes of instructions, for their mix.
//
// In: an instruction with its details, from libcapstone. Thread: any.
#ifndef COUNTRACE_RMAP_CODE_INSTRUCTION_CLASS_H_
#define COUNTRACE_RMAP_CODE_INSTRUCTION_CLASS_H_

#include <capstone/capstone.h>

namespace countrace::rmap {

// The first of these that fits: branch (calls and returns, too), system,
// atomic, vector (floating point, too), store (also of what it has read), load,
// else integer. An instruction has one class: a vector's load is vector.
const char* ClassOf(csh engine, cs_arch arch, const cs_insn& one);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_CODE_INSTRUCTION_CLASS_H_
