// Errors of system calls as absl::Status.
#ifndef COUNTRACE_BASE_POSIX_ERRNO_STATUS_H_
#define COUNTRACE_BASE_POSIX_ERRNO_STATUS_H_

#include <string>

#include "absl/status/status.h"

namespace countrace::base {

// The status code for an errno; the message is "`what`: `strerror`".
absl::Status ErrnoStatus(int error, const std::string& what);

// The status of making an output. A place that is closed to writes is no lack
// of privilege: another one will do.
absl::Status OutputStatus(int error, const std::string& what);

// The message of a status, without the name of its code.
std::string StatusText(const absl::Status& status);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_ERRNO_STATUS_H_
