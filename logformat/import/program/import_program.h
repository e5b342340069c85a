// Finds the program that imports traces.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_PROGRAM_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace countrace::importer {

// Next to the running program: in its installation, or in its build tree. The
// variable COUNTRACE_IMPORT names another one.
absl::StatusOr<std::string> FindImportProgram();

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_PROGRAM_H_
