// Where libcountrace-runtime.so is, which `record` preloads into programs.
#ifndef COUNTRACE_CLI_RUNTIME_LIBRARY_H_
#define COUNTRACE_CLI_RUNTIME_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

namespace countrace::cli {

// In this order: $COUNTRACE_RUNTIME; beside the program, as in a build tree;
// the library folder of the installation the program belongs to. Returns: an
// absolute path; NOT_FOUND with the places looked at.
absl::StatusOr<std::string> FindRuntimeLibrary();

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_RUNTIME_LIBRARY_H_
