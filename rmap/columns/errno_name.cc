#include "rmap/columns/errno_name.h"

#include <string.h>

namespace countrace::rmap {

std::string ErrnoName(int error) {
  // The kernel has codes of its own: linux/errno.h of its sources.
  switch (error) {
    case 512:
      return "ERESTARTSYS";
    case 513:
      return "ERESTARTNOINTR";
    case 514:
      return "ERESTARTNOHAND";
    case 516:
      return "ERESTART_RESTARTBLOCK";
    default:
      break;
  }
  const char* const name = strerrorname_np(error);
  return name != nullptr ? name : std::to_string(error);
}

std::set<int> AllErrnos() {
  constexpr int kLastErrno = 516;
  std::set<int> errors;
  for (int error = 1; error <= kLastErrno; ++error) {
    if (ErrnoName(error).front() == 'E') errors.insert(error);
  }
  return errors;
}

}  // namespace countrace::rmap
