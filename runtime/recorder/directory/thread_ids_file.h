// Writes `.thread_ids` of a recording: the numbers of threads of other pid
// namespaces (logformat/session_layout.h).
//
// Thread: one for each object; several objects may write to one file.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_THREAD_IDS_FILE_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_THREAD_IDS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

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
  // The threads of `pid` that run now and were not added before, if it is in
  // another namespace.
  void AddProcess(std::int32_t pid);

 private:
  static constexpr std::size_t kMostNamespaces = 1024;

  // By inode. An open one keeps its inode: a later namespace, whose process 1
  // may live too short to be added, is not taken for it.
  std::map<std::uint32_t, base::ScopedFd> namespaces_;
  // Numbers here, and when they started.
  std::set<std::pair<std::int32_t, std::uint64_t>> added_;
  std::string path_;
  base::ScopedFd file_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_THREAD_IDS_FILE_H_
