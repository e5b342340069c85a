// Functions that no file of code names: the kernel's, and those that a compiler
// at run time made.
#ifndef COUNTRACE_BASE_CODE_LOCAL_SYMBOLS_H_
#define COUNTRACE_BASE_CODE_LOCAL_SYMBOLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::base {

struct LocalSymbol {
  std::uint64_t begin = 0, bytes = 0;
  std::string name;
};

// Where compilers begin the kernel's functions on x86-64; elsewhere some begin
// between.
inline constexpr std::uint64_t kKernelFunctionAlignment = 16;

class LocalSymbols {
 public:
  // Text of /proc/kallsyms. Where the kernel hides addresses (all are 0) there
  // are none. A function ends where the next symbol begins; of a module it is
  // "NAME [MODULE]".
  static LocalSymbols OfKernel(std::string_view kallsyms);

  // By begin; no two overlap.
  static LocalSymbols Of(std::map<std::uint64_t, LocalSymbol> symbols);

  // Null: none is there.
  const LocalSymbol* Find(std::uint64_t address) const;
  std::size_t size() const { return symbols_.size(); }

 private:
  std::vector<LocalSymbol> symbols_;  // ascending, no two overlap
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_LOCAL_SYMBOLS_H_
