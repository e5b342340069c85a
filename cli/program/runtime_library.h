// Finds the libraries that `record` preloads into programs:
// libcountrace-runtime.so, or libcountrace-lttng.so with `--backend lttng`.
#ifndef COUNTRACE_CLI_PROGRAM_RUNTIME_LIBRARY_H_
#define COUNTRACE_CLI_PROGRAM_RUNTIME_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

namespace countrace::cli {

// In this order: $COUNTRACE_RUNTIME, or $COUNTRACE_LTTNG; beside the program,
// as in a build tree; the library folder of the installation the program
// belongs to. Returns: an absolute path; NOT_FOUND with the places looked at.
absl::StatusOr<std::string> FindRuntimeLibrary();
absl::StatusOr<std::string> FindLttngLibrary();

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_RUNTIME_LIBRARY_H_
