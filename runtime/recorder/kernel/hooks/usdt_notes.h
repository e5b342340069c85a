// Hooks of a program or library file, from its USDT notes (.note.stapsdt).
// Every countrace hook has one, and so have other programs' probes.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_USDT_NOTES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_USDT_NOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

struct UsdtNote {
  std::string provider, name;
  std::string arguments;      // "-8@%rax -8@%rdx"; empty if none
  std::uint64_t address = 0;  // as linked
  // File offset of that address, and of the probe's semaphore (0: none).
  std::uint64_t offset = 0, semaphore_offset = 0;
};

// In file order, one for each address in the code. Returns: NOT_FOUND no such
// file; INVALID_ARGUMENT not an ELF file; DATA_LOSS a note that contradicts
// itself.
absl::StatusOr<std::vector<UsdtNote>> ReadUsdtNotes(const std::string& path);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_USDT_NOTES_H_
