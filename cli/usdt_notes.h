// Hooks of a program or library file, from its USDT notes (.note.stapsdt):
// every countrace hook leaves one, and so do other programs' probes.
#ifndef COUNTRACE_CLI_USDT_NOTES_H_
#define COUNTRACE_CLI_USDT_NOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::cli {

struct UsdtNote {
  std::string provider, name;
  std::string arguments;      // "-8@%rax -8@%rdx"; empty if none
  std::uint64_t address = 0;  // as linked
};

// In file order, one for each place in the code.
// Returns: NOT_FOUND no such file; INVALID_ARGUMENT not an ELF file; DATA_LOSS
// a note that contradicts itself.
absl::StatusOr<std::vector<UsdtNote>> ReadUsdtNotes(const std::string& path);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_USDT_NOTES_H_
