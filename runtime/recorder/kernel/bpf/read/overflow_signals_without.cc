// Stands for overflow_signals.cc in a build with COUNTRACE_WITH_BPF=OFF.
#include "runtime/recorder/samples/overflow_signals.h"

namespace countrace::runtime {

absl::StatusOr<std::unique_ptr<OverflowSignals>> OpenOverflowSignals(
    const SignalRequest& /*request*/) {
  return absl::UnimplementedError(
      "--signal-every: this countrace was built without BPF");
}

}  // namespace countrace::runtime
