// Reads files of /proc, /sys and tracefs, whose size is not known beforehand.
//
// Thread: any. Errors: what could not be read, and why, as absl::Status
// (NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE).
#ifndef COUNTRACE_RUNTIME_RECORDER_SMALL_FILE_H_
#define COUNTRACE_RUNTIME_RECORDER_SMALL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace countrace::runtime {

// `directory_fd` as for openat(2); AT_FDCWD for absolute paths.
absl::StatusOr<std::string> ReadSmallFile(int directory_fd,
                                          const std::string& path);
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Names in a directory without "." and "..", sorted.
absl::StatusOr<std::vector<std::string>> ListDirectory(int directory_fd,
                                                       const std::string& path);

// The number at the start of a file. Absent if it cannot be read or is no
// number.
std::optional<std::int64_t> ReadNumber(const std::string& path);

// `text` without white space at both ends.
std::string_view Trim(std::string_view text);

// The status code that fits an errno; message is "`what`: `strerror`".
absl::Status ErrnoStatus(int error, const std::string& what);

// The message of a status, without the name of its code.
std::string StatusText(const absl::Status& status);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SMALL_FILE_H_
