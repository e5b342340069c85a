// Any bytes as a program or library: its functions lie in the file, by offset.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "runtime/recorder/kernel/hooks/function_symbols.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using countrace::runtime::FunctionSymbol;
  static countrace::fuzz::InputFile file;
  const auto object =
      countrace::runtime::ReadFunctionSymbols(file.Write({data, size}));
  if (!object.ok()) {
    if (object.status().message().empty()) std::abort();
    return 0;
  }
  const auto& functions = object->functions;
  if (!std::is_sorted(functions.begin(), functions.end(),
                      [](const FunctionSymbol& a, const FunctionSymbol& b) {
                        return a.offset < b.offset;
                      })) {
    std::abort();
  }
  for (const FunctionSymbol& function : functions) {
    if (function.symbol.empty() || function.name.empty()) std::abort();
  }
  return 0;
}
