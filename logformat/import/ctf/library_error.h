// An error of libbabeltrace2 as a Status.
//
// Thread: that of the failed call; the library keeps one error per thread.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_LIBRARY_ERROR_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_LIBRARY_ERROR_H_

#include <string_view>

#include "absl/status/status.h"

namespace countrace::importer {

// INVALID_ARGUMENT "`what`: its deepest cause". Clears the library's error.
absl::Status LibraryError(std::string_view what);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_LIBRARY_ERROR_H_
