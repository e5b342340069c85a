// Ids and names of the hooks that the kernel recorder dumps itself. System
// calls and interrupts get theirs at their first record. Each is in the trace's
// file `.kernel_hooks` before its first record is in a stream.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REGISTRY_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REGISTRY_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/posix/scoped_fd.h"
#include "logformat/trace_info.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"

namespace countrace::runtime {

class KernelHookRegistry {
 public:
  // `dynamic`: hooks of COUNTRACE_FAMILY_LISTED, by number; `arguments`: values
  // of system calls.
  explicit KernelHookRegistry(std::vector<DynamicHook> dynamic,
                              std::vector<SyscallArguments> arguments = {})
      : dynamic_(std::move(dynamic)), arguments_(std::move(arguments)) {}

  // Creates the file in trace directory `directory` and registers the dynamic
  // hooks. Returns: errors of the file system.
  absl::Status Open(const std::string& directory);
  // The same for records that no trace will hold.
  absl::Status OpenUnstored();

  // Event id in the trace for event id `raw` of a ring (COUNTRACE_EVENT_HOOK)
  // with this number; 0 if there is none: no such family, or the file cannot be
  // written.
  std::uint16_t EventId(std::uint16_t raw, std::uint32_t number);
  // Types of the values in the records of a hook whose event id EventId()
  // returned.
  const std::vector<logformat::PayloadType>& ValueTypes(
      std::uint16_t event_id) const;
  // What the records of dynamic hook `number` have in place of slots at its
  // exit, or else its enter or point; null: slots.
  const countrace_stored_values* Window(std::uint32_t number, bool exit) const;
  // Registers a point that is no hook of a ring, whatever its id. Returns its
  // event id; 0: there is none, as above.
  std::uint16_t AddPoint(logformat::HookInfo hook);

  const std::vector<SyscallArguments>& arguments() const { return arguments_; }

 private:
  absl::Status RegisterDynamic(const std::string& path);
  std::uint32_t Register(std::uint32_t family, std::uint32_t number,
                         bool point);
  bool Store(logformat::HookInfo& hook);

  std::vector<DynamicHook> dynamic_;
  std::vector<SyscallArguments> arguments_;
  base::ScopedFd file_;
  std::uint32_t next_id_ = logformat::kHookIdKernelMin;
  // By hook id - kHookIdKernelMin: at its enter, at its exit.
  std::vector<std::array<std::vector<logformat::PayloadType>, 2>> value_types_;
  // Hook ids by number; 0: not registered yet.
  std::array<std::vector<std::uint16_t>, COUNTRACE_HOOK_FAMILIES> ids_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_REGISTRY_H_
