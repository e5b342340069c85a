// The parameters of functions at their first instruction: names and types from
// the file's debug information (DWARF, found as debuggers find it), registers
// by the calling convention of this machine.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_VALUES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_VALUES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/recorder/kernel/hooks/function_symbols.h"
#include "runtime/recorder/kernel/hooks/hook_values.h"

namespace countrace::runtime {

class FunctionValues {
 public:
  // Without debug information in the file nothing is known.
  explicit FunctionValues(const std::string& path);
  ~FunctionValues();
  FunctionValues(const FunctionValues&) = delete;
  FunctionValues& operator=(const FunctionValues&) = delete;

  // In order; nullopt: the debug information does not describe it.
  std::optional<std::vector<HookValue>> ParametersOf(
      const FunctionSymbol& function) const;

  // The registers that hold a function's first arguments, by their names and
  // as arg0, arg1, ...: what a list can name without debug information.
  static std::vector<HookValue> Registers();

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_FUNCTION_VALUES_H_
