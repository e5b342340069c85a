#include "runtime/recorder/kernel/functions/function_ways.h"

namespace countrace::runtime {

FunctionWay ChooseWay(KernelFunction& function) {
  if (function.why_not.empty()) {
    function.why_not = "This countrace was built without BPF";
  }
  return FunctionWay::kNone;
}

}  // namespace countrace::runtime
