// A file mapped for reading. The descriptor is closed at once: a trace with
// thousands of streams needs no descriptor for any of them. A file that shrinks
// under the mapping reads as zeros, and CheckWhole() says so.
#ifndef COUNTRACE_BASE_POSIX_FILE_MAPPING_H_
#define COUNTRACE_BASE_POSIX_FILE_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/mapping_guard.h"
#include "base/posix/scoped_fd.h"

namespace countrace::base {

// Another process leases the file, so that an open would wait for it.
absl::Status LeasedError(const std::string& path);

class FileMapping {
 public:
  // Maps the whole file. Symbolic links and anything that is not a regular file
  // are rejected: babeltrace2 would read a linked stream twice. Returns:
  // NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (a link, a directory, a
  // device), RESOURCE_EXHAUSTED, UNAVAILABLE (LeasedError()).
  static absl::StatusOr<FileMapping> Open(const std::string& path);
  // Maps an open file; `path` is for messages. Returns: as Open().
  static absl::StatusOr<FileMapping> Map(const ScopedFd& file,
                                         const std::string& path);

  FileMapping() = default;
  FileMapping(FileMapping&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        disk_bytes_(other.disk_bytes_),
        path_(std::move(other.path_)),
        data_(std::move(other.data_)),
        guard_(std::move(other.guard_)) {}
  FileMapping& operator=(FileMapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(disk_bytes_, other.disk_bytes_);
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(guard_, other.guard_);
    return *this;
  }
  ~FileMapping();

  std::span<const std::byte> bytes() const { return bytes_; }
  // What the file used of the disk when it was mapped: less than its size if it
  // has holes, never more.
  std::uint64_t disk_bytes() const { return disk_bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  // To be called after a read: whether all that was read was in the file.
  // Returns: DATA_LOSS, with both sizes.
  absl::Status CheckWhole() const;
  // The first offset from `at` on that may hold other bytes than zeros, and the
  // first one from which on all is zeros, before `end`. They skip the holes of
  // a file that has at least 64 MiB of them; the pages of a hole are never
  // read.
  std::size_t NextData(std::size_t at) const;
  std::size_t DataEnd(std::size_t end) const;
  // Whether a part of [begin, end) is in such a hole.
  bool HasHole(std::size_t begin, std::size_t end) const;
  // Whether the file is one hole of at least 64 MiB.
  bool IsOneHole() const {
    return !bytes_.empty() && DataEnd(bytes_.size()) == 0;
  }
  // Releases the pages that lie wholly in [begin, end); a later access reads
  // them from the file again. `end` may be beyond the file's end.
  void Forget(std::size_t begin, std::size_t end) const;

 private:
  struct Extent {
    std::size_t begin, end;
  };

  void FindData(const ScopedFd& fd);

  std::span<const std::byte> bytes_;
  std::uint64_t disk_bytes_ = 0;
  std::string path_;
  std::vector<Extent> data_;  // in order; empty if it was not asked for
  MappingGuard guard_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_FILE_MAPPING_H_
