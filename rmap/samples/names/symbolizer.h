// Names of addresses in files: functions, also inlined ones, source file and
// line, and their instructions, from a process with few rights
// (code_process.h).
//
// Files are opened as they lie on this machine, when the first address in them
// is asked for, and only if they have the build id that was recorded. Another
// one is looked for by build id where perf keeps copies and by debuginfod, if
// that is configured; separate debug files there, too, and where the system
// keeps them. Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_NAMES_SYMBOLIZER_H_
#define COUNTRACE_RMAP_SAMPLES_NAMES_SYMBOLIZER_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/code/code_messages.h"
#include "rmap/result/samples.h"

namespace countrace::rmap {

struct CodeName {
  // Demangled. Empty: no symbol covers the address. "[not named: LIMIT]": its
  // file came to a limit.
  std::string function;
  bool inlined = false;
  std::string file;        // of the source; empty: not known
  std::uint32_t line = 0;  // there; 0: not known
};

// The code of one function.
struct CodeRange {
  std::uint64_t begin = 0, end = 0;  // addresses in the file's own terms
  auto operator<=>(const CodeRange&) const = default;
};

// What a data address in a file is of.
struct DataObject {
  enum class Kind : std::uint8_t {
    kObject,
    kCode,
    kNoSymbol,    // data of a program or library
    kNotProgram,  // another file
  };
  Kind kind = Kind::kNoSymbol;
  std::string name = {};  // kObject: demangled
};

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // `offset` is a place in the file itself. The innermost inlined function
  // first, the function that has the code last: at least this one. Asked again
  // for the same place it does not look again.
  std::vector<CodeName> NamesOf(const CodeFile& file, std::uint64_t offset);
  // Looks for many at once, which costs less than one after the other.
  void Expect(const CodeFile& file, const std::vector<std::uint64_t>& offsets);
  // The names of an address in the file's own terms, and that of an offset.
  std::vector<CodeName> NamesAt(const CodeFile& file, std::uint64_t address);
  std::optional<std::uint64_t> AddressOf(const CodeFile& file,
                                         std::uint64_t offset);
  // The function that has the code at an address. Absent: no symbol covers it.
  std::optional<CodeRange> RangeOf(const CodeFile& file, std::uint64_t address);
  // By address. Errors: why there are none, in words.
  absl::StatusOr<std::vector<Instruction>> InstructionsOf(
      const CodeFile& file, const CodeRange& range);
  // The instruction at a place in the file itself. It is a bucket if there is
  // none: [no code], or the limit that its file came to.
  Mnemonic MnemonicAt(const CodeFile& file, std::uint64_t offset);
  // Looks for many at once.
  void ExpectMnemonics(const CodeFile& file,
                       const std::vector<std::uint64_t>& offsets);
  // `offset` is a place in the file itself, or behind what it has of .data.
  DataObject ObjectAt(const CodeFile& file, std::uint64_t offset);
  // The user of the file, if it was opened where it was recorded.
  std::optional<std::uint32_t> OwnerOf(const CodeFile& file);
  // Files that were not read, with the reason, for the user.
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  struct OpenFile;
  // Null: it has no names.
  OpenFile* Open(const CodeFile& file);
  bool Take(const CodeFile& code, const std::string& place, OpenFile& file,
            std::string& why);
  // False: there is no whole answer, and if the file came to a limit there will
  // be none. `why`: what the process says of it.
  template <typename Answer>
  bool Ask(OpenFile& file, CodeMessage kind,
           const std::vector<std::uint64_t>& numbers, Answer& out,
           std::string& why);
  void Look(OpenFile& file, std::vector<std::uint64_t> addresses);
  // Its names of one address; null: there are none.
  const NamedAddress* NameOf(OpenFile& file, std::uint64_t address,
                             const std::vector<std::string>** texts = nullptr);
  void GiveUp(OpenFile& file, const std::string& limit);

  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<std::string> messages_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_NAMES_SYMBOLIZER_H_
