#include "runtime/recorder/kernel/bpf/probe_cost_key.h"

#include <sys/stat.h>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/small_file.h"

namespace countrace::runtime {

std::string ProbeConditions(const BpfProgramOptions& options) {
  struct stat program {};
  (void)stat("/proc/self/exe", &program);
  std::string key =
      absl::StrFormat("build=%d:%d:%d.%09d", program.st_dev, program.st_ino,
                      program.st_mtim.tv_sec, program.st_mtim.tv_nsec);
  absl::StrAppendFormat(
      &key, " jit=%d cpus=%d",
      base::ReadNumber("/proc/sys/net/core/bpf_jit_enable").value_or(-1),
      options.cpus.size());
  // A return probe enters the kernel by a system call of its own.
  absl::StrAppendFormat(
      &key, " syscalls=%d faults=%d count=%d marks=%d,%d,%d,%d",
      options.hooks.syscalls, options.fault_records,
      logformat::GatingBits(options.gating), options.follow_marks,
      options.marks.globs().size(), options.marks.uids().size(),
      options.marks.cgroups().size());
  absl::StrAppendFormat(
      &key, " sets=%s events=", absl::StrJoin(options.choice.set_sizes, ","));
  for (const EventSpec& event : options.choice.events) {
    absl::StrAppendFormat(&key, "%d:%x:%x:%x:%d%d,", event.type, event.config,
                          event.config1, event.config2, event.exclude_user,
                          event.exclude_kernel);
  }
  return key;
}

}  // namespace countrace::runtime
