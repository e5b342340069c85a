// Where perf keeps copies of the files that it recorded, and systems the
// symbols of theirs.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_KEPT_FILES_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_KEPT_FILES_H_

#include <string>

namespace countrace::importer::perf {

// `name`: "elf", or "vdso". Empty: no user has a folder, or this is no build
// id.
std::string KeptFile(const std::string& build_id, const char* name);
std::string DebugFile(const std::string& build_id);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_KEPT_FILES_H_
