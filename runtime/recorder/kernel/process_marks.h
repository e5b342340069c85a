// The marked processes on this machine: resolves the texts of `--mark` and
// matches them against processes in /proc and against names in kernel records.
//
// In: mark specs. Out: yes or no; the tables of the BPF programs. Thread: any.
// Errors name the mark and the missing part.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_PROCESS_MARKS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_PROCESS_MARKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/mark_spec.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {

struct MarkedCgroup {
  std::uint64_t id = 0;  // of the v2 hierarchy
  std::string path;      // below the mount, as /proc/PID/cgroup has it
};

class ProcessMarks {
 public:
  ProcessMarks() = default;  // matches no process
  // Returns: NOT_FOUND a process, user or cgroup that does not exist;
  // INVALID_ARGUMENT several cgroups have such a name: it lists them;
  // UNIMPLEMENTED no cgroup v2 is mounted.
  static absl::StatusOr<ProcessMarks> Resolve(
      const std::vector<logformat::MarkSpec>& specs);

  // True for the process of a thread; `first`: its first thread in
  // /proc/PID/stat.
  bool Matches(const ProcessThread& first) const;
  // Matches by the name alone, for instance after an exec; NUL-padded.
  bool MatchesComm(const char (&comm)[COUNTRACE_COMM_BYTES]) const;
  // Matches by the properties that an exec may change beside the name, looked
  // up in /proc now.
  bool MatchesOwner(std::int32_t pid) const;

  bool empty() const {
    return pids_.empty() && globs_.empty() && uids_.empty() && cgroups_.empty();
  }
  const std::vector<countrace_comm_glob>& globs() const { return globs_; }
  const std::vector<std::uint32_t>& uids() const { return uids_; }
  const std::vector<MarkedCgroup>& cgroups() const { return cgroups_; }

 private:
  std::vector<std::int32_t> pids_;
  std::vector<countrace_comm_glob> globs_;
  std::vector<std::uint32_t> uids_;  // real user ids
  std::vector<MarkedCgroup> cgroups_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_PROCESS_MARKS_H_
