// Reads files of /proc, /sys and tracefs, whose size is not known beforehand.
//
// Thread: any. Errors: the file that could not be read, and why, as
// absl::Status (NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE).
#ifndef COUNTRACE_BASE_POSIX_SMALL_FILE_H_
#define COUNTRACE_BASE_POSIX_SMALL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::base {

// `directory_fd` as for openat(2); AT_FDCWD for absolute paths.
absl::StatusOr<std::string> ReadSmallFile(int directory_fd,
                                          const std::string& path);
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Names in a directory without "." and "..", sorted.
absl::StatusOr<std::vector<std::string>> ListDirectory(int directory_fd,
                                                       const std::string& path);

// The number at the start of a file. Absent if the file cannot be read or does
// not begin with a number.
std::optional<std::int64_t> ReadNumber(const std::string& path);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_SMALL_FILE_H_
