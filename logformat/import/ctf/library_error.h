// What libbabeltrace2 says when it fails, as a Status.
//
// Thread: that of the failed call; the library keeps one error for each.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_LIBRARY_ERROR_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_LIBRARY_ERROR_H_

#include <string_view>

#include "absl/status/status.h"

namespace countrace::importer {

// INVALID_ARGUMENT "`what`: its deepest cause". The library's error is taken.
absl::Status LibraryError(std::string_view what);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_LIBRARY_ERROR_H_
