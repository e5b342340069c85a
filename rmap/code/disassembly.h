// Machine code as text, by libcapstone, if the build has it.
//
// In: bytes of a file, which may be no code. Thread: any.
#ifndef COUNTRACE_RMAP_CODE_DISASSEMBLY_H_
#define COUNTRACE_RMAP_CODE_DISASSEMBLY_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/code/code_messages.h"

namespace countrace::rmap {

// "<main+0x10>" of an address; empty: no symbol covers it.
using NameAddress = std::function<std::string(std::uint64_t)>;

// `machine`: EM_X86_64, ... Bytes that are no instruction are "(bad)". x86 in
// the syntax of AT&T. Behind a jump, a call and an address relative to the
// instruction stands what is there. Errors: there is no disassembler for the
// machine, or in this build, in words.
absl::StatusOr<std::vector<Instruction>> Disassemble(
    std::span<const unsigned char> code, std::uint64_t address,
    unsigned machine, const NameAddress& name);

// x86's longest.
inline constexpr std::uint64_t kLongestInstruction = 15;

// The instruction that `code` begins with. x86 as Intel writes it, without the
// operands' size. Errors: as above.
absl::StatusOr<Mnemonic> MnemonicOf(std::span<const unsigned char> code,
                                    unsigned machine);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_CODE_DISASSEMBLY_H_
