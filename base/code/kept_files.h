// Where other tools keep files by their build ids: perf the files that it
// recorded, and systems the symbols of theirs.
//
// Build ids are hexadecimal. Of any other text, which a trace may hold, the
// paths are empty. Thread: any.
#ifndef COUNTRACE_BASE_CODE_KEPT_FILES_H_
#define COUNTRACE_BASE_CODE_KEPT_FILES_H_

#include <string>

namespace countrace::base {

// "~/.debug/.build-id/ab/cdef/elf"; `name`: "elf", or "vdso". Empty: the user
// has no home.
std::string KeptFile(const std::string& build_id, const char* name);
// "/usr/lib/debug/.build-id/ab/cdef.debug"
std::string DebugFile(const std::string& build_id);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_KEPT_FILES_H_
