// What the kernel recorder is asked to record beside dispatches: kernel
// segments (system calls, interrupts, faults) and dynamic hooks, which it dumps
// itself.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REQUEST_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

// One place where the kernel is to write a record of a dynamic hook.
struct HookAttachment {
  enum class Place : std::uint8_t { kEnter = 0, kExit = 1, kPoint = 2 };
  Place place = Place::kPoint;
  // A place in a file: byte `offset`. With kExit and `on_return`: wherever the
  // function that begins there returns.
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t semaphore_offset = 0;  // USDT: counts who listens; 0: none
  bool on_return = false;
  // Or, if `file` is empty, a tracepoint, by its id in tracefs.
  std::uint64_t tracepoint = 0;
  // Where its arguments are: of a USDT probe as its note says, of a tracepoint
  // the text of its format file.
  std::string arguments;
};

// A dynamic hook: a uprobe, a USDT probe or a tracepoint, one or many places.
struct DynamicHook {
  enum class Type : std::uint8_t { kFunction, kUsdtProbe, kTracepoint };
  Type type = Type::kFunction;
  std::string provider, name;
  std::string location;  // what it is attached to, for people
  logformat::HookKind kind = logformat::HookKind::kPoint;
  logformat::HookOrigin origin = logformat::HookOrigin::kProbe;
  std::vector<HookAttachment> attachments;
};

struct KernelHookRequest {
  bool syscalls = false;
  bool irqs = false;  // interrupt lines, and vectors without a line
  bool softirqs = false;
  bool faults = false;  // page faults, as segments
  std::vector<DynamicHook> dynamic;
  // What needs a privilege that is missing is left out; else it is an error.
  bool optional = false;

  bool any() const {
    return syscalls || irqs || softirqs || faults || !dynamic.empty();
  }
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REQUEST_H_
