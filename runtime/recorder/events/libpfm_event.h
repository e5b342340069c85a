// Event names of libpfm4: the vendors' own names of every PMU it knows, for
// what perf has no name (`skl::UOPS_ISSUED:ANY`, `UOPS_ISSUED:ANY`).
//
// Thread: one at a time; the first call initialises libpfm4 and, for a moment,
// sets an environment variable.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_LIBPFM_EVENT_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_LIBPFM_EVENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

// As perf_event_attr wants it.
struct LibpfmEvent {
  std::string full_name;     // with its PMU: "skl::UOPS_ISSUED:ANY"
  bool pmu_is_here = false;  // else the encoding is of no use on this machine
  int other_pmus = 0;        // not here that know a bare name, too
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  bool exclude_user = false, exclude_kernel = false;
};

// Looks `name` up, with or without its PMU, among the PMUs of this machine and,
// without success, among all that libpfm4 knows.
// Returns: NOT_FOUND libpfm4 does not know it; INVALID_ARGUMENT it knows the
// event but not its attributes, or they ask for what no counter here does (the
// message says which); UNIMPLEMENTED built without libpfm4.
absl::StatusOr<LibpfmEvent> FindLibpfmEvent(std::string_view name);

// PMU::EVENT or PMU::EVENT:UMASK of the PMUs of this machine; those that perf
// names itself are left out. Empty without libpfm4.
std::vector<std::string> ListLibpfmEvents();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_LIBPFM_EVENT_H_
