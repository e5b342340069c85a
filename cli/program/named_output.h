// A file for data that the user named (-o FILE), as a shell's > opens it: what
// the name leads to is written, also a device, a pipe or a link, and never
// replaced.
#ifndef COUNTRACE_CLI_PROGRAM_NAMED_OUTPUT_H_
#define COUNTRACE_CLI_PROGRAM_NAMED_OUTPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/posix/scoped_fd.h"

namespace countrace::cli {

class NamedOutput {
 public:
  // Empties a file that exists.
  absl::Status Open(const std::string& path);
  absl::Status Write(std::string_view text);

 private:
  absl::Status Error(const char* what) const;

  base::ScopedFd fd_;
  std::string path_;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_NAMED_OUTPUT_H_
