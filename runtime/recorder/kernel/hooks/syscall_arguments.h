// The arguments of system calls: which they are, by the kernel's own format
// files, and what those do not say, by one table: which are texts, which are
// descriptors, which calls return one.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_SYSCALL_ARGUMENTS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_SYSCALL_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/trace_info.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"

namespace countrace::runtime {

struct SyscallArgument {
  std::string name;  // the kernel's
  logformat::PayloadType type = logformat::PayloadType::kUnsigned;
  std::uint8_t bytes = 8;  // of a number, from its register's lower end
};

// Values of one system call; without arguments and results: none are stored.
struct SyscallArguments {
  std::vector<SyscallArgument> arguments;
  countrace_call_layout layout{};

  // The types and names of the values of its enters and exits: the arguments,
  // each descriptor with its `file` behind it (`dir` of one that file names are
  // relative to); at the exit the returned descriptor's `file` (`new_file`
  // where the enter has a `file`), then the texts, which are empty if the enter
  // has them.
  void Describe(logformat::HookInfo& hook) const;
};

// `name` as SyscallName() spells it, `format`: text of the format file of its
// tracepoint.
SyscallArguments ParseSyscallFormat(std::string_view name,
                                    std::string_view format);

// All of this kernel, by number. Returns: NOT_FOUND if the kernel does not
// describe them (CONFIG_FTRACE_SYSCALLS), errors of tracefs.
absl::StatusOr<std::vector<SyscallArguments>> ReadSyscallArguments();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_SYSCALL_ARGUMENTS_H_
