// What `countrace` and countrace-code (code_main.cc) say to each other.
//
//   countrace: request --> countrace-code: answer
//                      <-- or a question for a file, which gets an answer first
//
// Addresses are in a file's own terms. Thread: any (plain values).
#ifndef COUNTRACE_RMAP_CODE_CODE_MESSAGES_H_
#define COUNTRACE_RMAP_CODE_CODE_MESSAGES_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/jail/message.h"

namespace countrace::rmap {

// The first number of a message.
enum class CodeMessage : std::uint64_t {
  kOpen = 1,      // number of the file; with its descriptor
  kNames,         // number, addresses
  kInstructions,  // number, begin, end
  kMnemonics,     // number, addresses
  kClose,         // number
  kAnswer,        // of the request
  kFailed,        // answer: why, in words
  kTooLarge,      // answer: with the others, more than kCodeFileBytes
  kNoFile,        // answer: no file has the number
  kQuestion,      // DebugFileQuestion
  kDebugFile,     // its answer: with a descriptor, or none
};

// Limits of the program. A request that comes to one ends it.
inline constexpr std::uint64_t kCodeMemoryBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kCodeFileBytes = std::uint64_t{8} << 30;
inline constexpr int kCodeCpuSeconds = 20;
inline constexpr int kOutOfMemoryStatus = 3;
inline constexpr std::size_t kMostAddresses = 1024;  // of a request
inline constexpr std::uint64_t kMostAnswerBytes = std::uint64_t{256} << 20;
inline constexpr std::size_t kLongestName = 16384;  // the rest is cut
inline constexpr int kMostQuestions = 16;           // a file

// A file that has debug information of another one.
struct DebugFileQuestion {
  // Of .gnu_debuglink: it is beside the program, or kept by the system; or of
  // .gnu_debugaltlink. Empty: the file has none.
  std::string name;
  std::string build_id;      // hexadecimal; empty: the file has none
  bool is_shared = false;    // .gnu_debugaltlink
  std::uint64_t number = 0;  // of those that there are

  static auto Fields(auto& self) {
    return std::tie(self.name, self.build_id, self.is_shared, self.number);
  }
};

// Loaded parts: file offset, bytes, address.
struct CodePart {
  std::uint64_t offset = 0, bytes = 0, address = 0;
  bool is_code = false;

  static auto Fields(auto& self) {
    return std::tie(self.offset, self.bytes, self.address, self.is_code);
  }
};
struct OpenedCode {
  std::string build_id;  // hexadecimal; empty: it has none
  std::vector<CodePart> parts;

  static auto Fields(auto& self) { return std::tie(self.build_id, self.parts); }
};

struct NamedAddress {
  struct Frame {
    std::uint32_t function = 0, file = 0;  // of NamedAddresses::texts
    std::uint32_t line = 0;
    bool inlined = false;

    static auto Fields(auto& self) {
      return std::tie(self.function, self.file, self.line, self.inlined);
    }
  };
  std::vector<Frame> frames;  // innermost first; at least one
  // The symbol that covers the address, whose name the last frame has.
  bool has_symbol = false, is_function = false;
  std::uint64_t into = 0, bytes = 0;  // from its begin to the address, of all

  static auto Fields(auto& self) {
    return std::tie(self.frames, self.has_symbol, self.is_function, self.into,
                    self.bytes);
  }
};
struct NamedAddresses {
  std::vector<std::string> texts;  // [0]: empty
  std::vector<NamedAddress> addresses;

  // Numbers of texts are of these, and no address is without a frame.
  bool IsSound() const;
  static auto Fields(auto& self) {
    return std::tie(self.texts, self.addresses);
  }
};

struct Instruction {
  std::uint64_t address = 0;
  std::string text;  // any bytes

  static auto Fields(auto& self) { return std::tie(self.address, self.text); }
};

// "add", and its class (instruction_class.h); of bytes that are no instruction
// "(bad)" and "bad". Both empty: the file has nothing there.
struct Mnemonic {
  std::string name, kind;

  static auto Fields(auto& self) { return std::tie(self.name, self.kind); }
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_CODE_CODE_MESSAGES_H_
