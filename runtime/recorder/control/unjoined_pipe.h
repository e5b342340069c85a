// Reads which programs found the recording and may not write there
// (inprocess/unjoined_report.h).
//
// In: `.unjoined`, a named pipe in the trace directory, and root's pipe for
// programs of other users (runtime/unjoined_place.h), whose texts are not
// trusted. Out: a message with the remedy for each program. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_CONTROL_UNJOINED_PIPE_H_
#define COUNTRACE_RUNTIME_RECORDER_CONTROL_UNJOINED_PIPE_H_

#include <string>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "logformat/trace_info.h"

namespace countrace::runtime {

class UnjoinedPipe {
 public:
  // Makes the pipes; where a file system has none, no program is reported.
  // ~UnjoinedPipe removes them. `invites`: programs of other users join later,
  // so that their start is no failure.
  UnjoinedPipe(std::string directory, bool invites);
  ~UnjoinedPipe();
  UnjoinedPipe(const UnjoinedPipe&) = delete;
  UnjoinedPipe& operator=(const UnjoinedPipe&) = delete;

  struct Report {
    std::string program;  // its file, as it sees it
    logformat::NotRecorded what;
  };
  // At the end of the recording: one for each program's file and reason. A pipe
  // holds 128 reports; more are not stored.
  std::vector<Report> Take();

 private:
  std::string directory_, place_;
  base::ScopedFd fd_, place_fd_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_UNJOINED_PIPE_H_
