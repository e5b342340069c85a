// Answers the requests of `countrace` in countrace-code.
//
// In: messages and descriptors from one socket. Out: answers, and questions for
// files, there. Thread: one.
#ifndef COUNTRACE_RMAP_CODE_CODE_SERVICE_H_
#define COUNTRACE_RMAP_CODE_CODE_SERVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/jail/message.h"
#include "rmap/code/code_image.h"
#include "rmap/code/code_messages.h"

namespace countrace::rmap {

class CodeService {
 public:
  // `room`: gets the bytes of all files that are mapped, before they are.
  CodeService(int socket, std::function<void(std::uint64_t)> room)
      : socket_(socket), room_(std::move(room)) {}

  // Returns when the other end is closed.
  void Run();

 private:
  struct Kept {
    std::unique_ptr<CodeImage> image;
    std::uint64_t bytes = 0;
  };
  std::string Answer(base::Message& request);
  std::string Open(std::uint64_t number, base::ScopedFd file);
  // Makes room for a descriptor's file. Not open: it is too large.
  base::ScopedFd Admit(base::ScopedFd file, Kept& kept);
  base::ScopedFd Ask(const DebugFileQuestion& question);

  const int socket_;
  const std::function<void(std::uint64_t)> room_;
  std::map<std::uint64_t, Kept> files_;
  std::uint64_t bytes_ = 0;  // of all
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_CODE_CODE_SERVICE_H_
