#include "base/posix/file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"

namespace countrace::base {
namespace {

absl::Status MapError(int error, const std::string& path) {
  if (error == ENOMEM || error == EMFILE || error == ENFILE) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "Cannot map %s: errno=%d; raise vm.max_map_count, RLIMIT_NOFILE or "
        "RLIMIT_AS",
        path, error));
  }
  if (error == EWOULDBLOCK) return LeasedError(path);
  return absl::ErrnoToStatus(error, absl::StrFormat("Cannot open %s", path));
}

// Smaller holes are read: that takes a few milliseconds.
constexpr off_t kMinHoleBytes = off_t{64} << 20;
// What lies behind so many pieces of data counts as data.
constexpr std::size_t kMaxExtents = 1 << 16;

}  // namespace

absl::Status LeasedError(const std::string& path) {
  return absl::UnavailableError(absl::StrFormat(
      "%s is leased by another process (fcntl(2), F_SETLEASE); the kernel "
      "takes it back in /proc/sys/fs/lease-break-time seconds: try again then",
      path));
}

absl::StatusOr<FileMapping> FileMapping::Open(const std::string& path) {
  // O_NONBLOCK: a fifo in the directory must not block the call.
  const ScopedFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.is_open()) {
    const int error = errno;
    if (error == ELOOP) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s is a symbolic link; a trace holds regular files "
                          "only: copy the file in its place",
                          path));
    }
    return MapError(error, path);
  }
  return Map(fd, path);
}

absl::StatusOr<FileMapping> FileMapping::Map(const ScopedFd& fd,
                                             const std::string& path) {
  struct stat status = {};
  if (fstat(fd.get(), &status) != 0) return MapError(errno, path);
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is not a regular file: mode=%#o", path, status.st_mode));
  }
  FileMapping mapping;
  mapping.path_ = path;
  mapping.disk_bytes_ = static_cast<std::uint64_t>(
      std::min<off_t>(status.st_size, status.st_blocks * 512));
  if (status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED) return MapError(errno, path);
    mapping.bytes_ = {static_cast<const std::byte*>(data), size};
    mapping.guard_ = MappingGuard(mapping.bytes_.data(), size);
    mapping.FindData(fd);
  }
  return mapping;
}

FileMapping::~FileMapping() {
  if (bytes_.empty()) return;
  guard_ = MappingGuard();
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void FileMapping::FindData(const ScopedFd& fd) {
  const auto size = static_cast<off_t>(bytes_.size());
  if (size - static_cast<off_t>(disk_bytes_) < kMinHoleBytes) return;
  off_t at = 0;
  while (at < size && data_.size() < kMaxExtents) {
    const off_t begin = lseek(fd.get(), at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // only a hole follows
    const off_t end = begin < 0 ? -1 : lseek(fd.get(), begin, SEEK_HOLE);
    if (end < 0) {  // the file system cannot say
      data_.clear();
      return;
    }
    data_.push_back(
        {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)});
    at = end;
  }
  if (data_.size() == kMaxExtents) data_.back().end = bytes_.size();
  if (data_.empty()) data_.push_back({bytes_.size(), bytes_.size()});
}

std::size_t FileMapping::NextData(std::size_t at) const {
  if (data_.empty()) return at;
  const auto extent =
      std::lower_bound(data_.begin(), data_.end(), at,
                       [](const Extent& piece, std::size_t offset) {
                         return piece.end <= offset;
                       });
  return extent == data_.end() ? bytes_.size() : std::max(at, extent->begin);
}

std::size_t FileMapping::DataEnd(std::size_t end) const {
  if (data_.empty()) return end;
  const auto extent =
      std::lower_bound(data_.begin(), data_.end(), end,
                       [](const Extent& piece, std::size_t offset) {
                         return piece.begin < offset;
                       });
  return extent == data_.begin() ? 0 : std::min(end, std::prev(extent)->end);
}

bool FileMapping::HasHole(std::size_t begin, std::size_t end) const {
  if (data_.empty() || begin >= end) return false;
  const auto extent =
      std::lower_bound(data_.begin(), data_.end(), begin,
                       [](const Extent& piece, std::size_t offset) {
                         return piece.end <= offset;
                       });
  return extent == data_.end() || extent->begin > begin || extent->end < end;
}

absl::Status FileMapping::CheckWhole() const {
  if (!guard_.has_zeros()) return absl::OkStatus();
  struct stat status = {};
  if (stat(path_.c_str(), &status) == 0 &&
      static_cast<std::size_t>(status.st_size) == bytes_.size()) {
    return absl::DataLossError(absl::StrFormat(
        "%s could not be read to its end: its disk has an error, or another "
        "program cut it while it was read: bytes=%d",
        path_, bytes_.size()));
  }
  return absl::DataLossError(absl::StrFormat(
      "%s shrank while it was read: it had %d bytes, now %d; read it again "
      "when the program that writes it has ended, or read a copy",
      path_, bytes_.size(), status.st_size));
}

void FileMapping::Forget(std::size_t begin, std::size_t end) const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  // A damaged head may claim bytes beyond the end: other memory is there. The
  // pages of a hole were not read; the kernel would walk over them for
  // milliseconds.
  end = std::min({end, bytes_.size(), DataEnd(bytes_.size())}) / page * page;
  if (begin >= end) return;
  // Advice: correct even if it fails.
  (void)madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin,
                MADV_DONTNEED);
}

}  // namespace countrace::base
