// The process that reads files of code (rmap/code/code_main.cc): one for the
// verb, started when the first file is opened, and again when it has ended.
//
// It may be in the power of a hostile file. So its words are names and nothing
// else, and it is ended when a request takes more than kCodeCpuSeconds.
// Thread: any; one request at a time.
#ifndef COUNTRACE_RMAP_SAMPLES_NAMES_CODE_PROCESS_H_
#define COUNTRACE_RMAP_SAMPLES_NAMES_CODE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/posix/scoped_fd.h"
#include "rmap/code/code_messages.h"

namespace countrace::rmap {

struct CodeAnswer {
  // What ended the process, as "20 s of CPU time"; empty: there is an answer.
  std::string limit = {};
  // It had other files open, which may have been the cause.
  bool is_shared = false;
  // It cannot be started: why.
  std::string missing = {};
  std::string text = {};  // begins with a CodeMessage
};

class CodeProcess {
 public:
  // That of this process; never destroyed.
  static CodeProcess& Get();

  using OpenDebugFile =
      std::function<base::ScopedFd(const DebugFileQuestion& question)>;
  // Sends a request, with a descriptor or -1; answers questions by `open`.
  CodeAnswer Call(std::string_view request, int file,
                  const OpenDebugFile& open);
  // No other file has it.
  std::uint64_t NextNumber();
  // If it runs, and has the file.
  void Close(std::uint64_t number);

 private:
  CodeProcess() = default;
  bool Start(std::string& why);
  CodeAnswer Exchange(std::string_view request, int file,
                      const OpenDebugFile& open);
  // Empty: a message can be read.
  std::string Await(std::uint64_t used_ns);
  std::uint64_t UsedNs() const;
  std::string End();

  std::mutex mutex_;
  base::ScopedFd socket_;
  pid_t child_ = -1;
  std::uint64_t opened_ = 0;  // files of the running process
  std::uint64_t last_number_ = 0;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_NAMES_CODE_PROCESS_H_
