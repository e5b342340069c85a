#include "base/posix/errno_status.h"

#include <catch2/catch.hpp>
#include <cerrno>

namespace countrace::base {
namespace {

TEST_CASE("errno_status: only what privilege would mend is a lack of it",
          "[base][errno_status]") {
  CHECK(absl::IsPermissionDenied(ErrnoStatus(EACCES, "a")));
  CHECK(absl::IsPermissionDenied(ErrnoStatus(EPERM, "a")));
  CHECK(absl::IsFailedPrecondition(ErrnoStatus(EROFS, "a")));
  CHECK(ErrnoStatus(EROFS, "Cannot create x").message() ==
        "Cannot create x: Read-only file system");
  const absl::Status output = OutputStatus(EACCES, "Cannot create x");
  CHECK(absl::IsFailedPrecondition(output));
  CHECK(output.message() ==
        "Cannot create x: Permission denied; -o chooses another place");
  CHECK(absl::IsResourceExhausted(OutputStatus(ENOSPC, "a")));
}

}  // namespace
}  // namespace countrace::base
