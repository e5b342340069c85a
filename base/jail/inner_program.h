// Programs of ours that `countrace` starts for what may be hostile: where they
// are, and how they start.
#ifndef COUNTRACE_BASE_JAIL_INNER_PROGRAM_H_
#define COUNTRACE_BASE_JAIL_INNER_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::base {

struct InnerProgram {
  const char* name;          // "countrace-import"
  const char* variable;      // of the environment: names another file
  const char* build_folder;  // in a build tree: "logformat/import"
  const char* without;       // "so traces of others cannot be read"
};

// Next to the running program: in its installation, or in its build tree.
absl::StatusOr<std::string> FindInnerProgram(const InnerProgram& program);

// The end of the program's socket to `countrace`, in the program.
inline constexpr int kInnerSocketFd = 3;

struct InnerStart {
  std::vector<std::string> words;  // the program's path, its arguments
  // Descriptors; -1: /dev/null. It has no others.
  int socket = -1, output = -1, errors = -1;
  // The most that it can have; 0: as the caller.
  std::uint64_t memory_bytes = 0, cpu_seconds = 0, files = 0;
  // Memory without what is mapped from files; each file that it writes.
  std::uint64_t data_bytes = 0, file_bytes = 0;
};

// Starts it without a controlling input, core dumps and new privileges. It ends
// with the thread that started it. Errors: of fork().
absl::StatusOr<pid_t> StartInner(const InnerStart& start);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_JAIL_INNER_PROGRAM_H_
