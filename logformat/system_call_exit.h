// The exit record of a system call that replaced the registers of its thread,
// and its own number with them: rt_sigreturn (FORMAT.md 4.4).
#ifndef COUNTRACE_LOGFORMAT_SYSTEM_CALL_EXIT_H_
#define COUNTRACE_LOGFORMAT_SYSTEM_CALL_EXIT_H_

#include <cstdint>

namespace countrace::logformat {

// Its number, -1. It ends the open system call of its thread.
inline constexpr std::uint16_t kUnnamedSystemCall = 0xffff;

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_SYSTEM_CALL_EXIT_H_
