#include "runtime/recorder/directory/disk_room.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "logformat/packet_layout.h"

namespace countrace::runtime {
namespace {

// Packets that are not full may hold this part of the free space.
constexpr std::uint64_t kPart = 16;
// Beside one for each CPU: those of a thread that are ready.
constexpr std::uint64_t kReady = 4;

}  // namespace

std::uint64_t PacketBytesOn(const std::string& directory,
                            std::uint64_t most_bytes) {
  const auto page = std::max<std::uint64_t>(
      logformat::kPacketAlignBytes,
      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  std::uint64_t bytes = most_bytes;
  struct statvfs disk {};
  // A file system without a size has 0 blocks.
  if (statvfs(directory.c_str(), &disk) == 0 && disk.f_blocks != 0) {
    const auto cpus =
        static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
    bytes = std::min(bytes,
                     disk.f_bavail * disk.f_frsize / kPart / (cpus + kReady));
  }
  return std::max(2 * page, bytes / page * page);
}

}  // namespace countrace::runtime
