// Functions of a program or library, with their file offsets. Symbols in
// separate debug files are found as debuggers find them (build id, debug link).
//
// A return probe replaces the return address on the stack. The Go runtime moves
// stacks and reads their return addresses, so a return probe kills its programs
// (golang/go#22008).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_SYMBOLS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

struct FunctionSymbol {
  // As linked: "_ZN6Server6handleEv"; with its version if that is not the
  // default one: "pthread_create@GLIBC_2.2.5".
  std::string symbol;
  std::string name;          // as written: "Server::handle()"
  std::uint64_t offset = 0;  // file offset of its first byte
};

struct ObjectFunctions {
  // Those with code, by offset; one symbol for each address.
  std::vector<FunctionSymbol> functions;
  bool is_go = false;  // has the tables of the Go runtime
};

// The functions of `path`. Returns: NOT_FOUND no such file; INVALID_ARGUMENT
// not an ELF file.
absl::StatusOr<ObjectFunctions> ReadFunctionSymbols(const std::string& path);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_SYMBOLS_H_
