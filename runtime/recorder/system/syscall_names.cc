#include "runtime/recorder/system/syscall_names.h"

#include <seccomp.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/str_format.h"

namespace countrace::runtime {

std::string SyscallName(std::uint32_t number, bool compat) {
  std::uint32_t architecture = seccomp_arch_native();
  if (compat && architecture == SCMP_ARCH_X86_64) architecture = SCMP_ARCH_X86;
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(architecture, static_cast<int>(number)),
      &std::free);
  return name != nullptr ? name.get() : absl::StrFormat("%d", number);
}

}  // namespace countrace::runtime
