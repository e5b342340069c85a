// A file of code in countrace-code: its symbols, source lines and inlined
// functions by elfutils' libdwfl, its instructions.
//
// In: a descriptor of any file, and those of files with its debug information.
// What is damaged, or needs too much, may end the process. Thread: one.
#ifndef COUNTRACE_RMAP_CODE_CODE_IMAGE_H_
#define COUNTRACE_RMAP_CODE_CODE_IMAGE_H_

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "rmap/code/code_messages.h"
#include "rmap/code/source_frames.h"
#include "rmap/code/symbol_table.h"

namespace countrace::rmap {

// Not open: there is none (any more).
using FindDebugFile = std::function<base::ScopedFd(const DebugFileQuestion&)>;

class CodeImage {
 public:
  // Errors: why it has no names, in words.
  static absl::StatusOr<std::unique_ptr<CodeImage>> Open(base::ScopedFd file,
                                                         FindDebugFile find);
  ~CodeImage();
  CodeImage(const CodeImage&) = delete;
  CodeImage& operator=(const CodeImage&) = delete;

  const OpenedCode& opened() const { return opened_; }
  NamedAddresses NamesOf(const std::vector<std::uint64_t>& addresses);
  // At most of kMostCode bytes. Errors: why there are none, in words.
  absl::StatusOr<std::vector<Instruction>> InstructionsOf(std::uint64_t begin,
                                                          std::uint64_t end);
  // Errors: as above, if there are none at all.
  absl::StatusOr<std::vector<Mnemonic>> MnemonicsAt(
      const std::vector<std::uint64_t>& addresses);

 private:
  // Bytes of the file from an address on, at most `most`.
  absl::StatusOr<std::span<const unsigned char>> CodeAt(std::uint64_t begin,
                                                        std::uint64_t most);
  CodeImage() = default;
  static int FindDebugInfo(Dwfl_Module* module, void** user, const char* name,
                           Dwarf_Addr base, const char* file, const char* link,
                           GElf_Word crc, char** found);
  // The first one that is right.
  base::ScopedFd Find(DebugFileQuestion question,
                      const std::function<bool(int file)>& is_right);
  void ReadSharedDebug();
  absl::Status Read();
  // Its name is for the user; empty: no symbol covers the address.
  FoundSymbol SymbolAt(std::uint64_t address);
  const std::string& NameOf(const std::string& symbol);

  FindDebugFile find_;
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Elf* elf_ = nullptr;
  unsigned machine_ = 0;  // EM_X86_64, ...
  GElf_Addr bias_ = 0;
  base::ScopedFd shared_file_;
  Dwarf* shared_ = nullptr;  // .gnu_debugaltlink
  OpenedCode opened_;
  std::optional<SourceFrames> source_;
  std::optional<SymbolTable> symbols_;
  std::unordered_map<std::string, std::string> demangled_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_CODE_CODE_IMAGE_H_
