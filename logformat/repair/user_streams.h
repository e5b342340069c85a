// Adopts what programs of other users wrote into a recording
// (session_layout.h, `.user-UID`): copies their records into streams
// thread-PID-N-UID of the trace, with the hook ids of the trace.
//
// Nothing in such a folder is trusted (user_folder.h). A packet is copied if
// its times lie within the recording and its process may be that user's.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_USER_STREAMS_H_
#define COUNTRACE_LOGFORMAT_REPAIR_USER_STREAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::logformat {

// Bytes that are read for one user.
inline constexpr std::uint64_t kMostUserBytes = std::uint64_t{16} << 30;

struct AdoptOptions {
  // The users' folders stay as they are: for a snapshot.
  bool keep = false;
  // CLOCK_MONOTONIC, when the processes of the recording still have their
  // numbers: packets of live processes of other users are then refused. 0: not
  // known, as for a recording whose recorder died.
  std::uint64_t now_ns = 0;
};

struct AdoptResult {
  std::vector<std::string> messages;  // what was refused or is foreign
  std::uint64_t refused = 0;  // packets, and files with the name of a stream
};

// From the recording in directory `from` into the one in `to`: the same, or its
// copy. May be done again after a kill. Returns: RESOURCE_EXHAUSTED (disk
// full), PERMISSION_DENIED; as ReadSessionFiles() for `to`. What is wrong in a
// user's folder is no error.
absl::StatusOr<AdoptResult> AdoptUserStreams(const std::string& from,
                                             const std::string& to,
                                             const AdoptOptions& options);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_USER_STREAMS_H_
