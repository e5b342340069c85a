// Which functions code that was made at run time is of: what the compiler of
// one process wrote into jit-PID.dump and /tmp/perf-PID.map.
//
// At the end of a recording: the files are whole then, and no ring is waiting.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_NAMES_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_NAMES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/recorder/samples/jit_dump_files.h"

namespace countrace::runtime {

using base::JitFunction;

// The functions of `addresses`, each once. Appends to `messages` what is wrong
// with the files. Takes of `limits` what the names need.
std::vector<JitFunction> NameJitCode(const JitDumps& dumps, std::int32_t pid,
                                     const std::set<std::uint64_t>& addresses,
                                     base::NameLimits& limits,
                                     std::vector<std::string>& messages);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_NAMES_H_
