// The places of hooks in the kernel's own code, of
// hooks/kernel/countrace_kernel_hooks.h: in modules and drivers.
//
// Each place is an event of tracefs, whose print format says what it is:
// "countrace KIND PROVIDER:NAME ID FILE:LINE". Thread: any, one at a time.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_MODULE_SITES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_MODULE_SITES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

struct ModuleSite {
  enum class Kind : std::uint8_t { kEnter, kExit, kPoint };  // in this order
  Kind kind = Kind::kPoint;
  std::string provider, name;
  std::string location;          // "FILE:LINE", or "FILE:LINE, id N"
  std::uint64_t tracepoint = 0;  // its id in tracefs
  std::string format;            // its format file
};

// `format`: a tracepoint's format file. Absent: it is none of ours.
std::optional<ModuleSite> ParseModuleSite(std::string format);

// Those of this kernel whose provider matches, by provider, name and kind.
// Returns: as Tracefs::Open().
absl::StatusOr<std::vector<ModuleSite>> ReadModuleSites(
    const std::string& provider_glob);

// Why the kernel refused to load a module, in its words, if its log still has
// them; else empty.
std::string KernelWordsAbout(const std::string& module);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_MODULE_SITES_H_
