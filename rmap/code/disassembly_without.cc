// Disassemble() and MnemonicOf() in a build without libcapstone.
#include "rmap/code/disassembly.h"

namespace countrace::rmap {

absl::StatusOr<std::vector<Instruction>> Disassemble(
    std::span<const unsigned char>, std::uint64_t, unsigned,
    const NameAddress&) {
  return absl::UnavailableError("this build has no libcapstone");
}

absl::StatusOr<Mnemonic> MnemonicOf(std::span<const unsigned char>, unsigned) {
  return absl::UnavailableError("this build has no libcapstone");
}

}  // namespace countrace::rmap
