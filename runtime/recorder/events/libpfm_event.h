// Event names of libpfm4: the vendors' names for every PMU in its tables, for
// events without a perf name (`skl::UOPS_ISSUED:ANY`, `UOPS_ISSUED:ANY`).
//
// Thread: one at a time. The first call initialises libpfm4 and sets an
// environment variable for a short time.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_LIBPFM_EVENT_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_LIBPFM_EVENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

// In the form of perf_event_attr.
struct LibpfmEvent {
  std::string full_name;     // with its PMU: "skl::UOPS_ISSUED:ANY"
  bool pmu_is_here = false;  // else the encoding is useless on this machine
  int other_pmus = 0;  // PMUs of other machines that have a bare name, too
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  bool exclude_user = false, exclude_kernel = false;
};

// Looks `name` up, with or without its PMU, among the PMUs of this machine and,
// if it is not found, among all PMUs of libpfm4. Returns: NOT_FOUND libpfm4
// does not have it; INVALID_ARGUMENT it has the event but not its attributes,
// or they need a counter that this machine lacks (the message names them);
// UNIMPLEMENTED built without libpfm4.
absl::StatusOr<LibpfmEvent> FindLibpfmEvent(std::string_view name);

// PMU::EVENT or PMU::EVENT:UMASK for the PMUs of this machine, without those
// that perf names itself. Empty without libpfm4.
std::vector<std::string> ListLibpfmEvents();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_LIBPFM_EVENT_H_
