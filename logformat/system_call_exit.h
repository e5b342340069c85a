// Which hooks are system calls, and what their exit records say beyond the
// number (FORMAT.md 4.4).
#ifndef COUNTRACE_LOGFORMAT_SYSTEM_CALL_EXIT_H_
#define COUNTRACE_LOGFORMAT_SYSTEM_CALL_EXIT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "logformat/records.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// Providers `syscall` and, of 32-bit programs, `syscall32`.
inline bool IsSystemCall(const HookInfo& hook) {
  return hook.origin == HookOrigin::kKernel &&
         hook.provider.starts_with("syscall");
}

// The number, -1, of a system call that replaced the registers of its thread,
// and its own number with them: rt_sigreturn. It ends the open system call of
// its thread.
inline constexpr std::uint16_t kUnnamedSystemCall = 0xffff;

// These return a second time, with 0, in the thread that they made.
constexpr bool MakesThread(std::string_view system_call) {
  return system_call == "clone" || system_call == "clone3" ||
         system_call == "fork" || system_call == "vfork";
}

// A system call failed if it returned -1 to -kMaxErrno, the negative errno
// (MAX_ERRNO of linux/err.h).
inline constexpr std::uint64_t kMaxErrno = 4095;

// What the exit of a page fault has in its place, if the fault waited for a
// device (VM_FAULT_MAJOR of linux/mm_types.h).
inline constexpr std::uint64_t kMajorFault = 4;

// Size of a dump in the trace's cpu streams (FORMAT.md 4.5).
inline std::size_t CpuDumpBytes(const TraceInfo& info) {
  const EventSets sets = info.cpu_sets();
  return (sets.slots() + (sets.rotates() ? 1 : 0)) * sizeof(std::uint64_t);
}

// What the code of a kernel hook returned. Requires: `record` is its exit;
// `dump_bytes`: CpuDumpBytes().
inline std::uint64_t ReturnValueOf(const EventRecord& record,
                                   std::size_t dump_bytes) {
  std::uint64_t value = 0;
  const std::size_t at =
      sizeof(KernelHookRecord) +
      ((record.event_id & kEventDumpBit) != 0 ? dump_bytes : 0);
  if (record.bytes.size() < at + sizeof(value)) return 0;
  std::memcpy(&value, record.bytes.data() + at, sizeof(value));
  return value;
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_SYSTEM_CALL_EXIT_H_
