// Files that the import program cannot open in its jail and that its parent
// opens for it: stream files of the new trace, and programs whose functions an
// LTTng trace names by address, or whose stacks perf copied.
//
// A request is one message on a SOCK_SEQPACKET socket: its kind, then a name.
// The answer is an errno, and a descriptor if that is 0. Thread: one a side.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_FILE_SERVICE_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_FILE_SERVICE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/posix/scoped_fd.h"

namespace countrace::importer {

enum class FileRequest : char {
  kCreate = 'c',   // a new file of the trace, by its name
  kObject = 'o',   // a program or shared library, by its path; read-only
  kJitFile = 'j',  // a jit-PID.dump or perf-PID.map, by its path; read-only
  kKernel = 'k',   // what the kernel says of itself, as in machine_files.h
};

// In the program. Not open: errno says why.
base::ScopedFd RequestFile(int socket, FileRequest kind, std::string_view name);

// In the parent, which trusts no request: names contain no '/', files are new,
// objects are regular ELF files, not core dumps or the kernel's memory, files
// of code made at run time have such a name and are regular ones of this user
// or root, and of the kernel only names of code are given.
class FileService {
 public:
  explicit FileService(const std::string& directory);
  // Answers one request. False: the program has closed its end.
  bool Answer(int socket);

 private:
  base::ScopedFd Open(std::string_view request);

  base::ScopedFd directory_;
  std::uint32_t created_ = 0, objects_ = 0;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_FILE_SERVICE_H_
