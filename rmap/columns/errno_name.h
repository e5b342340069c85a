// Names of errno, also of the kernel's own.
#ifndef COUNTRACE_RMAP_COLUMNS_ERRNO_NAME_H_
#define COUNTRACE_RMAP_COLUMNS_ERRNO_NAME_H_

#include <set>
#include <string>

namespace countrace::rmap {

std::string ErrnoName(int error);  // "ENOENT"; its number if it has no name

// Those with a name.
std::set<int> AllErrnos();

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_ERRNO_NAME_H_
