// What killed programs and recorders left in shared memory and /tmp.
#ifndef COUNTRACE_RUNTIME_RECORDER_CONTROL_LEFT_FILES_H_
#define COUNTRACE_RUNTIME_RECORDER_CONTROL_LEFT_FILES_H_

#include <string>

namespace countrace::runtime {

// A folder in which a recorder measures the cost of hooks has this name, its
// pid, '-', the inode of its pid namespace, '-', and six characters of
// mkdtemp(3).
inline constexpr char kCostFolderPrefix[] = "countrace-cost-";

// Removes those of our user whose process is dead: control pages and folders of
// kCostFolderPrefix of our pid namespace, also pages where another process has
// the pid now; in the initial pid namespace, pages of namespaces that have no
// process any more; unfinished pages, and folders of other namespaces, that are
// a minute old. Thread: any.
void RemoveLeftFiles();

// A pipe of our user that no recorder reads any more: of a killed one, in the
// trace at `directory`. Programs that copy files would wait for it.
void RemoveLeftPipe(const std::string& directory);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_LEFT_FILES_H_
