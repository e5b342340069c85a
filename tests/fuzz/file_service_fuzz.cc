// Any messages of the import program to its parent: each gets an answer, the
// files that it makes lie in the trace, and what it may read are regular files.
// Input: messages, each behind two bytes of its length.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include "logformat/import/program/file_service.h"
#include "tests/support/trace_builder.h"

namespace {

using countrace::base::ScopedFd;
using countrace::importer::FileRequest;
using countrace::importer::FileService;
using countrace::test_support::TempDirectory;

void Require(bool ok) {
  if (!ok) std::abort();
}

// The answer's descriptor, if there is one.
ScopedFd TakeAnswer(int socket) {
  int error = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&error, sizeof(error)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  Require(recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) ==
          sizeof(error));
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  Require((error == 0) == (head != nullptr));
  int fd = -1;
  if (head != nullptr) std::memcpy(&fd, CMSG_DATA(head), sizeof(fd));
  return ScopedFd(fd);
}

void CheckFile(const ScopedFd& file, std::span<const std::uint8_t> request,
               const std::string& trace) {
  struct stat status {};
  Require(fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode));
  const int access = fcntl(file.get(), F_GETFL) & O_ACCMODE;
  if (static_cast<FileRequest>(request[0]) != FileRequest::kCreate) {
    Require(access == O_RDONLY);
    return;
  }
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" +
                                                  std::to_string(file.get()));
  Require(path.parent_path() == trace && status.st_size == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const TempDirectory folder(TempDirectory::Place::kMemory);
  const std::string trace = folder / "trace";
  std::filesystem::remove_all(trace);
  std::filesystem::create_directory(trace);
  int ends[2];
  Require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const ScopedFd parent(ends[0]), program(ends[1]);
  FileService service(trace);
  std::span<const std::uint8_t> input(data, size);
  while (input.size() > 2) {
    const std::size_t bytes = std::min<std::size_t>(
        input[0] | std::size_t{input[1]} << 8, input.size() - 2);
    const auto request = input.subspan(2, bytes);
    input = input.subspan(2 + bytes);
    if (request.empty()) continue;  // the end of the stream
    Require(send(program.get(), request.data(), request.size(), 0) ==
            static_cast<ssize_t>(request.size()));
    Require(service.Answer(parent.get()));
    const ScopedFd file = TakeAnswer(program.get());
    if (file.is_open()) CheckFile(file, request, trace);
  }
  // Nothing was made beside the trace.
  Require(std::distance(std::filesystem::directory_iterator(folder.path()),
                        std::filesystem::directory_iterator()) == 1);
  return 0;
}
