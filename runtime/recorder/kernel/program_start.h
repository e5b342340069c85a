// A process of the recording executed a program.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_PROGRAM_START_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_PROGRAM_START_H_

#include <cstdint>
#include <string>

namespace countrace::runtime {

struct ProgramStart {
  std::uint64_t time_ns = 0;        // CLOCK_MONOTONIC
  std::int32_t pid = 0;             // in the recorder's pid namespace
  std::int32_t own_pid = 0;         // in its own
  std::uint32_t pid_namespace = 0;  // inode of its own
  std::int32_t parent_pid = 0;      // in the recorder's
  std::uint64_t inode = 0;          // of the program's file
  std::string path;                 // as the process gave it; may be cut
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_PROGRAM_START_H_
