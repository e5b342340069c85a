// How large a packet may be on the disk of a trace. Each CPU has one that is
// not full yet, and each thread some that are ready: on a small disk, packets
// of the usual size would leave most of it unused when they no longer fit.
//
// Thread: any; no state.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_DISK_ROOM_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_DISK_ROOM_H_

#include <cstdint>
#include <string>

namespace countrace::runtime {

// At most `most_bytes`, in whole pages, and at least two.
std::uint64_t PacketBytesOn(const std::string& directory,
                            std::uint64_t most_bytes);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_DISK_ROOM_H_
