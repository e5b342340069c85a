#include "runtime/recorder/kernel/functions/function_ways.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/functions/kernel_types.h"
#include "runtime/recorder/system/process_capability.h"

namespace countrace::runtime {
namespace {

// The kernel's own number for "not supported", which no header has.
constexpr int kNotSupported = 524;

// Returns: 0, or the errno of the kernel's refusal.
int AttachNothing(std::uint32_t type_id) {
  bpf_insn do_nothing[2] = {};
  do_nothing[0].code = BPF_ALU64 | BPF_MOV | BPF_K;  // returns 0
  do_nothing[1].code = BPF_JMP | BPF_EXIT;
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  options.expected_attach_type = BPF_TRACE_FENTRY;
  options.attach_btf_id = type_id;
  const base::ScopedFd program(bpf_prog_load(BPF_PROG_TYPE_TRACING, "nothing",
                                             "GPL", do_nothing,
                                             std::size(do_nothing), &options));
  if (!program.is_open()) return errno;
  const base::ScopedFd link(
      bpf_link_create(program.get(), 0, BPF_TRACE_FENTRY, nullptr));
  return link.is_open() ? 0 : errno;
}

std::string WhyNotTraced() {
  if (const std::string missing = MissingBpfCapabilities(); !missing.empty()) {
    return "fentry needs " + missing;
  }
  if (access("/sys/kernel/btf/vmlinux", F_OK) != 0) {
    return "fentry needs CONFIG_DEBUG_INFO_BTF";
  }
  const char* const function = MeasuredFunction();
  if (function == nullptr) return "the kernel describes no function for fentry";
  const int error = AttachNothing(FunctionTypeId("", function));
  if (error == 0) return "";
  if (error == kNotSupported || error == EOPNOTSUPP) {
    return "fentry needs CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS and "
           "CONFIG_BPF_JIT";
  }
  return absl::StrFormat("the kernel refuses fentry: %s", std::strerror(error));
}

std::string WhyNotProbed() {
  if (access("/sys/bus/event_source/devices/kprobe/type", F_OK) == 0) return "";
  return "kprobes need CONFIG_KPROBES and CONFIG_KPROBE_EVENTS";
}

}  // namespace

const FunctionWays& FunctionWaysHere() {
  static const FunctionWays ways = {WhyNotTraced(), WhyNotProbed()};
  return ways;
}

FunctionWay ChooseWay(KernelFunction& function) {
  if (!function.why_not.empty()) return FunctionWay::kNone;
  const FunctionWays& ways = FunctionWaysHere();
  std::string no_fentry = ways.no_fentry;
  if (no_fentry.empty() &&
      FunctionTypeId(function.module, function.name) == 0) {
    no_fentry = "its type is not described (BTF) for fentry";
  }
  if (no_fentry.empty()) return FunctionWay::kTraced;
  if (ways.no_kprobe.empty()) return FunctionWay::kProbed;
  function.why_not = no_fentry + "; " + ways.no_kprobe;
  return FunctionWay::kNone;
}

const char* MeasuredFunction() {
  for (const char* const name :
       {"__do_sys_getppid", "__arm64_sys_getppid", "sys_getppid"}) {
    if (FunctionTypeId("", name) != 0) return name;
  }
  return nullptr;
}

}  // namespace countrace::runtime
