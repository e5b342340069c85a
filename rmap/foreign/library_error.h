// What libbabeltrace2 says when it fails, as a Status.
//
// Thread: that of the failed call; the library keeps one error for each.
#ifndef COUNTRACE_RMAP_FOREIGN_LIBRARY_ERROR_H_
#define COUNTRACE_RMAP_FOREIGN_LIBRARY_ERROR_H_

#include <string_view>

#include "absl/status/status.h"

namespace countrace::rmap::foreign {

// INVALID_ARGUMENT "`what`: its deepest cause". The library's error is taken.
absl::Status LibraryError(std::string_view what);

}  // namespace countrace::rmap::foreign

#endif  // COUNTRACE_RMAP_FOREIGN_LIBRARY_ERROR_H_
