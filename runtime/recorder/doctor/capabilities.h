// What recording needs and what this machine and user give: each item with its
// state and the command that changes it. Used by `countrace doctor` and by the
// recorder's messages. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_DOCTOR_CAPABILITIES_H_
#define COUNTRACE_RUNTIME_RECORDER_DOCTOR_CAPABILITIES_H_

#include <string>
#include <vector>

#include "runtime/recorder/events/event_set_choice.h"

namespace countrace::runtime {

enum class CapabilityStatus {
  kOk,
  kLimited,  // works, with less than it could
  kMissing,
};
const char* CapabilityStatusName(CapabilityStatus status);  // "ok", ...

struct Capability {
  std::string name;  // "kernel-records", "hardware-counters", ...
  CapabilityStatus status = CapabilityStatus::kOk;
  std::string detail{};  // what was found, with its numbers
  std::string effect{};  // what does not work without it; empty if ok
  std::string fix{};     // exact command; empty if there is none or it is ok
};

// In the order in which a user should read them. Opens and closes a few perf
// events; changes nothing.
std::vector<Capability> ProbeCapabilities();

// What `countrace doctor -e` asks: whether `choice` can be counted, one item
// for each of its event sets (and one for what is always on), tried for real:
// which is refused, by which errno, with how many counters it needs and how
// many there are. An event that this machine does not have is named.
std::vector<Capability> ProbeEventSets(const EventChoice& choice);
// Which of the usual groups of hardware events can be counted at once.
Capability ProbeEventGroups();

// One sentence for the recorder: why there are no kernel records, what still
// works, and the command that fixes it. `reason` is the failed call.
std::string KernelRecordsMissingMessage(const std::string& reason);

// Effective capability of this process by its number in linux/capability.h.
bool HasCapability(unsigned number);

// "CAP_BPF and CAP_PERFMON", as far as this process lacks what the BPF back end
// needs; empty if it lacks nothing.
std::string MissingBpfCapabilities();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DOCTOR_CAPABILITIES_H_
