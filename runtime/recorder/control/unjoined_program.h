// Why the hooks of a program were not recorded, from its file.
#ifndef COUNTRACE_RUNTIME_RECORDER_CONTROL_UNJOINED_PROGRAM_H_
#define COUNTRACE_RUNTIME_RECORDER_CONTROL_UNJOINED_PROGRAM_H_

#include <cstdint>
#include <string>

namespace countrace::runtime {

// The file that process `pid` executes, or that `command` names; empty: it is
// not known (a program of $PATH that has ended already).
std::string ProgramFileOf(std::int32_t pid, const std::string& command);

// One sentence with the reason and the remedy, for a program that did not join
// although it ran with the runtime library `preloaded`, or ran without: it is
// static, its privileges forbid a preload, it is built with
// -finstrument-functions, or it has only USDT probes of others. Empty: it is a
// program without hooks, or not an ELF file.
std::string WhyNotJoined(const std::string& path, bool preloaded);

// Whether the file is a program with hooks of countrace.
bool HasHooks(const std::string& path);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_UNJOINED_PROGRAM_H_
