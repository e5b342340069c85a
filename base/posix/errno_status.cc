#include "base/posix/errno_status.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"

namespace countrace::base {

absl::Status ErrnoStatus(int error, const std::string& what) {
  const std::string message =
      absl::StrFormat("%s: %s", what, std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ESRCH:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EIO:
      return absl::ResourceExhaustedError(message);
    case EINVAL:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    case EROFS:  // more privilege would not help
      return absl::FailedPreconditionError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::Status OutputStatus(int error, const std::string& what) {
  absl::Status status = ErrnoStatus(error, what);
  if (!absl::IsPermissionDenied(status)) return status;
  return absl::FailedPreconditionError(
      absl::StrFormat("%s; -o chooses another place", status.message()));
}

std::string StatusText(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace countrace::base
