// The instructions of a part of a file, by binutils' objdump in a child
// process.
//
// Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_DISASSEMBLY_H_
#define COUNTRACE_RMAP_SAMPLES_DISASSEMBLY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/samples/symbolizer.h"

namespace countrace::rmap {

struct Instruction {
  std::uint64_t address = 0;  // in the file's own terms
  std::string text;           // as the disassembler prints it: any bytes
};

// By address. Errors: NOT_FOUND there is no objdump; UNAVAILABLE it failed, or
// shows no code there, with its own message.
absl::StatusOr<std::vector<Instruction>> Disassemble(const CodeRange& range);

// What objdump prints, line by line: those that are instructions of the range.
std::vector<Instruction> InstructionsIn(const std::string& text,
                                        const CodeRange& range);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_DISASSEMBLY_H_
