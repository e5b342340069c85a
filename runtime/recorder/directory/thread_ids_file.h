// Writes `.thread_ids` of a recording: the numbers of threads of other pid
// namespaces (logformat/session_layout.h).
//
// Thread: one for each object; several objects may write to one file.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_THREAD_IDS_FILE_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_THREAD_IDS_FILE_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/posix/scoped_fd.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

class ThreadIdsFile {
 public:
  explicit ThreadIdsFile(const std::string& directory)
      : path_(directory + "/" + logformat::kThreadIdsFile) {}

  // The first call creates the file. An entry that cannot be written is
  // missing: its thread gets a number of its own when the trace is finished.
  void Add(std::span<const logformat::ThreadIdsEntry> entries);
  // The threads of `pid` that run now, if it is in another namespace.
  void AddProcess(std::int32_t pid);

 private:
  std::string path_;
  base::ScopedFd file_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_THREAD_IDS_FILE_H_
