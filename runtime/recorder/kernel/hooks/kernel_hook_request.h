// The request to the kernel recorder beside dispatches: kernel segments (system
// calls, interrupts, faults) and dynamic hooks, which it dumps itself.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REQUEST_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REQUEST_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"
#include "logformat/probe_cost.h"
#include "logformat/trace_info.h"
#include "runtime/recorder/kernel/hooks/argument_source.h"
#include "runtime/recorder/kernel/hooks/syscall_arguments.h"

namespace countrace::runtime {

// One address at which the kernel writes a record of a dynamic hook.
struct HookAttachment {
  enum class Place : std::uint8_t { kEnter = 0, kExit = 1, kPoint = 2 };
  Place place = Place::kPoint;
  // A place in a file: byte `offset`. With kExit and `on_return`: every return
  // of the function that begins there.
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t semaphore_offset = 0;  // USDT: counts attached probes; 0: none
  bool on_return = false;
  // Or a function of the kernel, or of a module of it, at address `offset`; 0:
  // the kernel does not say.
  std::string function, module;
  bool traced = false;  // by fentry and fexit, else by kprobes
  // What it returns, at its exit. No bits: nothing.
  std::uint8_t ret_bits = 64;
  bool ret_is_signed = true;
  // Or, if all of these are empty, a tracepoint, by its id in tracefs.
  std::uint64_t tracepoint = 0;
  // The description of its arguments: a USDT probe's note, or a tracepoint's
  // format file.
  std::string arguments;
  // The values that its records store, as many as the hook has there.
  countrace_stored_values stored{};
};

// The values in a hook's records, as in logformat::HookInfo.
struct HookValues {
  std::vector<logformat::PayloadType> types;
  std::vector<std::string> names;
  // As logformat::HookInfo::number_names.
  std::vector<std::shared_ptr<const logformat::NumberNames>> number_names = {};
};

// A dynamic hook: a uprobe, a USDT probe, a tracepoint or a kernel function,
// one or many places.
struct DynamicHook {
  enum class Type : std::uint8_t {
    kFunction,
    kUsdtProbe,
    kTracepoint,
    kKernelFunction
  };
  Type type = Type::kFunction;
  std::string provider, name;
  std::string location;  // where it is attached, for the user
  logformat::HookKind kind = logformat::HookKind::kPoint;
  logformat::HookOrigin origin = logformat::HookOrigin::kProbe;
  std::vector<HookAttachment> attachments;
  // A block point: offsets of its tracepoint's dev, sector and nr_sector.
  std::optional<std::array<std::uint32_t, 3>> block_fields;
  HookValues values, exit_values;  // of its enter or point, of its exit
  // What a call or hit of a probe takes; absent for tracepoints.
  std::optional<logformat::ProbeCost> cost;
};

// Status payload of PERMISSION_DENIED: the message names the hooks. It is the
// remedy, if that is another one than for all kernel records.
inline constexpr char kHookDeniedPayload[] = "countrace/hook-denied";

struct KernelHookRequest {
  bool syscalls = false;
  // ReadSyscallArguments(): system calls are recorded with their values; empty:
  // without.
  std::vector<SyscallArguments> arguments;
  bool irqs = false;  // interrupt lines, and vectors without a line
  bool softirqs = false;
  bool faults = false;  // page faults, as segments
  std::vector<DynamicHook> dynamic;
  // How hooks were placed otherwise than their text says, for the user.
  std::vector<std::string> notes;
  // Hooks that the text names and that cannot be placed.
  std::vector<logformat::NotRecorded> left_out;
  // Hooks without their privilege are left out; else they are an error.
  bool optional = false;
  // Called after each attachment of a dynamic hook, which takes the kernel up
  // to a tenth of a second; may be empty.
  std::function<void(std::size_t done, std::size_t all)> attaching;

  bool any() const {
    return syscalls || irqs || softirqs || faults || !dynamic.empty();
  }
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REQUEST_H_
