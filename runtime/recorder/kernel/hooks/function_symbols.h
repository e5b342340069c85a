// Functions of a program or library, with their file offsets. Symbols in
// separate debug files are found as debuggers find them (build id, debug link).
//
// What they say about return probes is for function_exits.h.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_SYMBOLS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_SYMBOLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/hooks/code_range.h"
#include "runtime/recorder/kernel/hooks/linkage.h"

namespace countrace::runtime {

// One part of a function: its bytes, and where they begin in the file.
struct FunctionPart {
  std::span<const std::uint8_t> code;
  std::uint64_t offset = 0;
};

struct FunctionSymbol {
  // As linked: "_ZN6Server6handleEv"; with its version if that is not the
  // default one: "pthread_create@GLIBC_2.2.5".
  std::string symbol;
  std::string name;          // as written: "Server::handle()"
  std::uint64_t offset = 0;  // file offset of its first byte
  std::uint64_t bytes = 0;   // 0: not known
  // Parts that the compiler moved away ("handle.cold"): jumped to, not called,
  // so no functions.
  std::vector<CodeRange> moved;
};

struct ObjectFunctions {
  // Those with code, by offset; one symbol for each address.
  std::vector<FunctionSymbol> functions;
  bool is_go = false;  // has the tables of the Go runtime
  // Throws, or lets through, exceptions of C++, Ada or another language, or
  // panics of Rust.
  bool unwinds = false;
  // A program, no library, that runs coroutines on stacks of its own.
  bool switches_stacks = false;
  bool is_library = false;
  // A library that is the C library: few of its functions call back.
  bool is_c_library = false;
  Linkage linkage;                 // of calls into other files
  std::uint64_t entry_offset = 0;  // where a program begins; 0: nowhere
};

// The functions of `path`. Returns: NOT_FOUND no such file; INVALID_ARGUMENT
// not an ELF file.
absl::StatusOr<ObjectFunctions> ReadFunctionSymbols(const std::string& path);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_SYMBOLS_H_
