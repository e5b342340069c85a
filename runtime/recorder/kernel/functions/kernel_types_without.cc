#include "runtime/recorder/kernel/functions/kernel_types.h"

namespace countrace::runtime {

// Without BPF there are no hooks of functions either.
std::optional<KernelPrototype> PrototypeOf(const std::string&,
                                           const std::string&) {
  return std::nullopt;
}

std::optional<std::uint64_t> EnumeratorOf(std::string_view) {
  return std::nullopt;
}

}  // namespace countrace::runtime
