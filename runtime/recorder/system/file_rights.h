// The capabilities that `countrace` has from its file (setcap) and its user
// does not have: `countrace-privileged`, docs/security.md. While one over files
// is in effect, every file that the user names is open to him.
//
// A thread has its own capabilities, and a new one has those of the thread that
// starts it. Thread: the first one before it starts others; the scope: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_FILE_RIGHTS_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_FILE_RIGHTS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace countrace::runtime {

// What a verb of the program does with such capabilities.
enum class FileRights : std::uint8_t {
  kGivenUp,  // for ever
  kRecord,   // keeps what records; KernelFileScope has those over files
};

// Does nothing if the user has the rights himself (root, ambient capabilities).
// A set-user-ID program gives up its other user. Returns: INTERNAL, and the
// program must end.
absl::Status SetFileRights(FileRights rights);

// While one lives, its thread can read the kernel's files that root alone can
// read. Never around a name that a user chose.
class [[nodiscard]] KernelFileScope {
 public:
  KernelFileScope();
  ~KernelFileScope();
  KernelFileScope(const KernelFileScope&) = delete;
  KernelFileScope& operator=(const KernelFileScope&) = delete;

 private:
  bool raised_ = false;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_FILE_RIGHTS_H_
