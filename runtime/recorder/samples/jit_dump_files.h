// The files jit-PID.dump (base/code/jit_dump.h) of recorded processes.
//
// In: mappings while recording, then the files. Out: names of addresses.
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_FILES_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/code/jit_dump.h"
#include "runtime/recorder/samples/file_thread.h"

namespace countrace::runtime {

using base::JitDump;

class JitDumps {
 public:
  // `thread` must outlive this.
  explicit JitDumps(FileThread& thread);

  // Has the thread open the file, if it is a regular one and its owner is the
  // process's user: it may be removed, and the process end.
  void OnMapping(std::int32_t pid, std::string_view path);
  // The process has code that was made at run time; it has a new program.
  void OnCode(std::int32_t pid);
  void OnNewProgram(std::int32_t pid) { users_.erase(pid); }
  // Whose it was when it had such code; absent: it ended before that was known.
  std::optional<std::uint32_t> UserOf(std::int32_t pid) const;
  // At the end. As base::ReadJitDump(); appends to `messages` what is wrong
  // with the file.
  JitDump Read(std::int32_t pid, const std::set<std::uint64_t>& addresses,
               base::NameLimits& limits,
               std::vector<std::string>& messages) const;

 private:
  static constexpr std::size_t kMostFiles = 256;
  struct Files;

  FileThread& thread_;
  const std::shared_ptr<Files> files_;
  std::map<std::int32_t, std::uint32_t> users_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_FILES_H_
