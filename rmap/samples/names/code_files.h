// Opens the files that hold names of code, for a process that may open none.
//
// In: files as a trace names them, and questions of that process, both of which
// may be anyone's. Out: descriptors of regular files. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_NAMES_CODE_FILES_H_
#define COUNTRACE_RMAP_SAMPLES_NAMES_CODE_FILES_H_

#include <string>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "rmap/code/code_messages.h"
#include "rmap/result/samples.h"

namespace countrace::rmap {

// Where a file may lie, the recorded path first. The last one, empty: where
// debuginfod has it.
std::vector<std::string> CodeFilePlaces(const CodeFile& code);

// The regular file at one of these, with the recorded version if the file has
// one; build ids are for others to compare. Not open: `why`, in words.
base::ScopedFd OpenCodeFile(const CodeFile& code, const std::string& place,
                            std::string& why);

// The file with debug information of the one at `path`, which `file` is open
// for. Not open: there are not so many.
base::ScopedFd OpenDebugFile(const DebugFileQuestion& question,
                             const std::string& path, int file);

// A file that is readable, and no program: what it holds has no symbols.
bool IsOtherFile(const std::string& path);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_NAMES_CODE_FILES_H_
