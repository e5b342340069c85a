#include "runtime/recorder/directory/disk_room.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "logformat/packet_layout.h"
#include "logformat/zero_blocks.h"

namespace countrace::runtime {
namespace {

// Packets that are not full may hold this part of the free space.
constexpr std::uint64_t kPart = 16;
// Beside one for each CPU: those of a thread that are ready.
constexpr std::uint64_t kReady = 4;
// The end of the trace is kept this part of the free space. Metadata with all
// system calls have 48 KiB.
constexpr std::uint64_t kReservePart = 24, kMostReserve = 512 << 10;

// Absent: a file system without a size.
std::optional<std::uint64_t> FreeBytes(const std::string& directory) {
  struct statvfs disk {};
  if (statvfs(directory.c_str(), &disk) != 0 || disk.f_blocks == 0) {
    return std::nullopt;
  }
  return disk.f_bavail * disk.f_frsize;
}

}  // namespace

std::uint64_t PacketBytesOn(const std::string& directory,
                            std::uint64_t most_bytes) {
  const auto page = std::max<std::uint64_t>(
      logformat::kPacketAlignBytes,
      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  std::uint64_t bytes = most_bytes;
  if (const auto free_bytes = FreeBytes(directory)) {
    const auto cpus =
        static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
    bytes = std::min(bytes, *free_bytes / kPart / (cpus + kReady));
  }
  return std::max(2 * page, bytes / page * page);
}

DiskReserve::DiskReserve(const std::string& directory)
    : file_(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
  constexpr std::uint64_t kBlock = logformat::kZeroBlockBytes;
  const std::uint64_t part = FreeBytes(directory).value_or(0) / kReservePart;
  const std::uint64_t bytes = std::min(kMostReserve, part / kBlock * kBlock);
  if (file_.is_open() && logformat::WriteZeros(file_.get(), 0, bytes) != 0) {
    file_.Reset();
  }
}

}  // namespace countrace::runtime
