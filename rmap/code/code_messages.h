// What `countrace` and countrace-code (code_main.cc) say to each other.
//
//   countrace: request --> countrace-code: answer
//                      <-- or a question for a file, which gets an answer first
//
// Addresses are in a file's own terms. Thread: any (plain values).
#ifndef COUNTRACE_RMAP_CODE_CODE_MESSAGES_H_
#define COUNTRACE_RMAP_CODE_CODE_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/jail/message.h"

namespace countrace::rmap {

// The first number of a message.
enum class CodeMessage : std::uint64_t {
  kOpen = 1,      // number of the file; with its descriptor
  kNames,         // number, addresses
  kSymbols,       // number, addresses
  kInstructions,  // number, begin, end
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
  enum class Kind : std::uint64_t {
    kBuildId = 1,  // kept by the system
    kLink,         // .gnu_debuglink: beside the program, or kept by the system
    kFetched,      // by debuginfod
    kShared,       // .gnu_debugaltlink
  };
  Kind kind = Kind::kBuildId;
  std::string name, build_id;  // hexadecimal
  // Which of those that there are.
  std::uint64_t number = 0;
};

// Loaded parts: file offset, bytes, address.
struct CodePart {
  std::uint64_t offset = 0, bytes = 0, address = 0;
  bool is_code = false;
};
struct OpenedCode {
  std::string build_id;  // hexadecimal; empty: it has none
  std::vector<CodePart> parts;
};

// Names of addresses: of each the innermost inlined function first.
struct NamedAddresses {
  struct Frame {
    std::uint32_t function = 0, file = 0;  // of `texts`; [0]: empty
    std::uint32_t line = 0;
    bool inlined = false;
  };
  std::vector<std::string> texts;
  std::vector<Frame> frames;
  std::vector<std::uint64_t> ends;  // of each address's frames; at least one
};

struct CodeSymbolAt {
  std::string name;  // demangled; empty: no symbol covers the address
  std::uint64_t into = 0, bytes = 0;
  bool is_function = false;
};

struct Instruction {
  std::uint64_t address = 0;
  std::string text;  // any bytes
};

base::MessageWriter Begin(CodeMessage kind);
CodeMessage KindOf(base::MessageReader& reader);

void Write(const DebugFileQuestion& question, base::MessageWriter& to);
void Write(const OpenedCode& code, base::MessageWriter& to);
void Write(const NamedAddresses& names, base::MessageWriter& to);
void Write(const CodeSymbolAt& symbol, base::MessageWriter& to);
void Write(const std::vector<Instruction>& code, base::MessageWriter& to);

// Absent: it is none, or has more or less than it says.
std::optional<DebugFileQuestion> ReadQuestion(base::MessageReader& from);
std::optional<OpenedCode> ReadOpened(base::MessageReader& from);
// `addresses`: of how many.
std::optional<NamedAddresses> ReadNames(base::MessageReader& from,
                                        std::size_t addresses);
std::optional<CodeSymbolAt> ReadSymbol(base::MessageReader& from);
std::optional<std::vector<Instruction>> ReadInstructions(
    base::MessageReader& from);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_CODE_CODE_MESSAGES_H_
