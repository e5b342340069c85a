// How large a packet may be on the disk of a trace, and room for its end. Each
// CPU has a packet that is not full yet, and each thread some that are ready:
// on a small disk, packets of the usual size would leave most of it unused when
// they no longer fit.
//
// Thread: any; no state.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_DISK_ROOM_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_DISK_ROOM_H_

#include <cstdint>
#include <string>

#include "base/posix/scoped_fd.h"

namespace countrace::runtime {

// At most `most_bytes`, in whole pages, and at least two.
std::uint64_t PacketBytesOn(const std::string& directory,
                            std::uint64_t most_bytes);

// Space on the disk of a trace for what is written at its end, its metadata
// above all, in a file without a name: that of a killed recorder is free again,
// for `recover`. Where the file system has no such files, there is none.
class DiskReserve final {
 public:
  explicit DiskReserve(const std::string& directory);

 private:
  base::ScopedFd file_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_DISK_ROOM_H_
