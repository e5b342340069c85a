// Requirements of recording on this machine for this user: each item with its
// state and the command that changes it. Used by `countrace doctor` and by the
// recorder's messages. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_DOCTOR_CAPABILITIES_H_
#define COUNTRACE_RUNTIME_RECORDER_DOCTOR_CAPABILITIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/recorder/events/event_set_choice.h"

namespace countrace::runtime {

enum class CapabilityStatus {
  kOk,
  kLimited,  // works in part
  kMissing,
};
const char* CapabilityStatusName(CapabilityStatus status);  // "ok", ...

struct Capability {
  std::string name;  // "kernel-records", "hardware-counters", ...
  CapabilityStatus status = CapabilityStatus::kOk;
  std::string detail{};  // finding, with its numbers
  std::string effect{};  // what does not work without it; empty if ok
  std::string fix{};     // exact command; empty if there is none or it is ok
};

// In the order in which a user should read them. Opens and closes a few perf
// events; changes nothing.
std::vector<Capability> ProbeCapabilities();

// Whether the BPF back end works: loads its programs, and removes them.
Capability ProbeBpf();

// For `countrace doctor -e`: tries whether `choice` can be counted, one item
// for each event set (and one for the events that always count). A refusal
// gives the event, the errno, the counters needed and the counters available.
// An event that this machine lacks is named.
std::vector<Capability> ProbeEventSets(const EventChoice& choice);
// The usual groups of hardware events that can be counted at once.
Capability ProbeEventGroups();

// One sentence for the recorder: the reason for missing kernel records, what
// still works, and the command that fixes it. `status`: of the failed call.
std::string KernelRecordsMissingMessage(const absl::Status& status);
// Its last part, ". For kernel records: run as root, ...". Empty if privilege
// is not what is missing.
// `by_perf`: perf rings would do, which a sysctl opens.
std::string KernelRecordsRemedy(const absl::Status& status, bool by_perf);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DOCTOR_CAPABILITIES_H_
