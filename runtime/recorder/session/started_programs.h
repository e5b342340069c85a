// The programs with hooks that processes of the recording executed: those that
// did not join the session are named at the end.
//
// In: what the kernel side says of each exec, or what runs at a time. A file is
// looked at once, while the recording goes on; one that cannot be found again
// (of another mount namespace, of a process that has ended) is passed over, and
// so is one of another user, whose file is not parsed. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_STARTED_PROGRAMS_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_STARTED_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/recorder/kernel/program_start.h"

namespace countrace::runtime {

class StartedPrograms {
 public:
  void Add(std::vector<ProgramStart> starts);
  // Without BPF: what process `root` and its descendants, which are returned,
  // execute now.
  std::vector<std::int32_t> AddRunning(std::int32_t root);

  // Number of processes that executed a program with hooks, and for which
  // `joined` is false, by the program's file.
  std::map<std::string, std::uint64_t> NotJoined(
      const std::function<bool(const ProgramStart&)>& joined) const;

 private:
  // The file of a program with hooks; empty: it has none, or is not found.
  const std::string& FileWithHooks(const ProgramStart& start);

  // By inode, and by the path that the process gave.
  std::map<std::pair<std::uint64_t, std::string>, std::string> files_;
  std::vector<std::pair<ProgramStart, const std::string*>> with_hooks_;
  // Of AddRunning(): pids and inodes.
  std::set<std::pair<std::int32_t, std::uint64_t>> running_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_STARTED_PROGRAMS_H_
