// Names of the kernel's functions, each looked up when it is needed: a
// recording meets a few hundred of a hundred thousand.
//
// In: addresses of code. Out: symbols. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_KERNEL_NAMES_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_KERNEL_NAMES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "runtime/recorder/samples/local_symbols.h"

namespace countrace::runtime {

// The function at an address; nothing: the kernel names none there.
using CodeNamer = std::function<std::optional<LocalSymbol>(std::uint64_t)>;

// Text as the kernel prints an address of code (%pS): "NAME+0x8/0x1c [MODULE]".
// Returns nothing for another form, as that of an address without a name.
std::optional<LocalSymbol> ParseCodeName(std::uint64_t address,
                                         std::string_view text);

class KernelNames {
 public:
  // Without a namer all are read from /proc/kallsyms, at once: while samples
  // come it would take so long that their rings may be full.
  explicit KernelNames(CodeNamer namer);

  // Null: none is there. Valid as long as this.
  const LocalSymbol* Find(std::uint64_t address);
  // An address in the function of a caller's frame that goes on at `next`: an
  // interrupt or a retpoline may have a function's first instruction there,
  // everything else has the one after a call.
  std::uint64_t CallerAddress(std::uint64_t next);

 private:
  const CodeNamer namer_;
  std::map<std::uint64_t, LocalSymbol> named_;  // by begin, of the namer
  LocalSymbols all_;                            // of /proc/kallsyms
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_KERNEL_NAMES_H_
