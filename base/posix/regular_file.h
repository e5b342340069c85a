// Opens files that another user may have named or made, to read them.
//
// A place is looked at before it is opened (O_PATH, fstat), and then that very
// place is opened again: to open a device can restart the machine
// (/dev/watchdog), and to open a pipe, or a file that is leased, can wait for
// ever.
//
// Thread: any.
#ifndef COUNTRACE_BASE_POSIX_REGULAR_FILE_H_
#define COUNTRACE_BASE_POSIX_REGULAR_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"

namespace countrace::base {

enum class LastLink : std::uint8_t { kFollowed, kRefused };

// Errors: the reason alone, without the path: NOT_FOUND, PERMISSION_DENIED,
// UNAVAILABLE; FAILED_PRECONDITION it is no regular file, or a link and `link`
// is kRefused.
absl::StatusOr<ScopedFd> OpenRegularFile(const std::string& path,
                                         LastLink link = LastLink::kFollowed);

// The whole text of such a file, or of an open one. RESOURCE_EXHAUSTED: it has
// more than `most_bytes`, whatever size it says that it has.
absl::StatusOr<std::string> ReadAll(int file, std::uint64_t most_bytes);
absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            std::uint64_t most_bytes);

// The same of a file that the user named: errors name it, too.
absl::StatusOr<ScopedFd> OpenNamedFile(const std::string& path);
absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                          std::uint64_t most_bytes);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_REGULAR_FILE_H_
