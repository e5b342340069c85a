// Stands for uprobe_multi.cc in a build with COUNTRACE_WITH_BPF=OFF.
#include "runtime/recorder/kernel/bpf/load/uprobe_multi.h"

namespace countrace::runtime {

bool KernelHasUprobeMulti() { return false; }

}  // namespace countrace::runtime
