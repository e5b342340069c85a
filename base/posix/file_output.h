// Writes files so that each failure is a Status, and a kill leaves either the
// old content or the new one.
#ifndef COUNTRACE_BASE_POSIX_FILE_OUTPUT_H_
#define COUNTRACE_BASE_POSIX_FILE_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "base/posix/scoped_fd.h"

namespace countrace::base {

// A file that is being written.
class FileOutput {
 public:
  absl::Status OpenExisting(const std::string& path);
  absl::Status Create(const std::string& path);  // replaces an existing file
  // Writes an open file, which errors call `path`.
  void Take(ScopedFd fd, const std::string& path);

  absl::Status WriteAt(std::uint64_t offset, std::span<const std::byte> bytes);
  absl::Status SetLength(std::uint64_t bytes);  // grows with zeros, or cuts
  // Flushes to the device, then renames to `path` atomically.
  absl::Status RenameTo(const std::string& path);

 private:
  absl::Status Error(int error, const char* what) const;

  ScopedFd fd_;
  std::string path_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_FILE_OUTPUT_H_
