// The files jit-PID.dump (base/code/jit_dump.h) of recorded processes.
//
// In: mappings while recording, then the files. Out: names of addresses.
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_FILES_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/code/jit_dump.h"
#include "base/posix/scoped_fd.h"

namespace countrace::runtime {

using base::JitDump;

class JitDumps {
 public:
  // Opens the file, if it is a regular one and its owner is the process's
  // user: that it may be removed, and the process end.
  void OnMapping(std::int32_t pid, std::string_view path);
  // The process has code that was made at run time; it has a new program.
  void OnCode(std::int32_t pid);
  void OnNewProgram(std::int32_t pid) { users_.erase(pid); }
  // Whose it was when it had such code; absent: it ended before that was known.
  std::optional<std::uint32_t> UserOf(std::int32_t pid) const;
  // At the end. Appends to `messages` what is wrong with the file.
  JitDump Read(std::int32_t pid, std::vector<std::string>& messages) const;

 private:
  static constexpr std::size_t kMostFiles = 256;
  struct File {
    std::string path;
    base::ScopedFd fd;
  };
  std::map<std::int32_t, File> files_;  // by process; its latest
  std::map<std::int32_t, std::uint32_t> users_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_FILES_H_
