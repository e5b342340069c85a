#include "logformat/import/program/file_service.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/code/jit_dump.h"

namespace countrace::importer {

using base::ScopedFd;

namespace {

constexpr std::uint32_t kMaxCreated = 1'000'000;
constexpr std::uint32_t kMaxObjects = 4096;
constexpr std::size_t kMaxRequest = 1 + PATH_MAX;

ScopedFd Refuse(int error) {
  errno = error;
  return ScopedFd();
}

bool IsFileName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= NAME_MAX && name != "." &&
         name != ".." && std::all_of(name.begin(), name.end(), allowed);
}

bool IsProgramOrLibrary(int fd) {
  std::array<unsigned char, EI_NIDENT + 2> head{};
  if (pread(fd, head.data(), head.size(), 0) !=
          static_cast<ssize_t>(head.size()) ||
      std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) {
    return false;
  }
  const bool big = head[EI_DATA] == ELFDATA2MSB;
  const unsigned type = head[EI_NIDENT + (big ? 1 : 0)] |
                        unsigned{head[EI_NIDENT + (big ? 0 : 1)]} << 8;
  return type == ET_EXEC || type == ET_DYN;
}

ScopedFd OpenObject(const std::string& path) {
  // Looked at before it is opened: opening a device can have effects, and so
  // can reading a file of the kernel, which has no size.
  const ScopedFd place(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!place.is_open() || fstat(place.get(), &status) != 0) return ScopedFd();
  if (!S_ISREG(status.st_mode) ||
      status.st_size < static_cast<off_t>(sizeof(Elf32_Ehdr))) {
    return Refuse(EACCES);
  }
  ScopedFd file(open(absl::StrFormat("/proc/self/fd/%d", place.get()).c_str(),
                     O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open() && !IsProgramOrLibrary(file.get())) return Refuse(EACCES);
  return file;
}

ScopedFd OpenJitDump(const std::string& path) {
  if (!base::IsJitDumpPath(path)) return Refuse(EINVAL);
  const ScopedFd place(open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!place.is_open() || fstat(place.get(), &status) != 0) return ScopedFd();
  if (!S_ISREG(status.st_mode) ||
      (status.st_uid != geteuid() && status.st_uid != 0)) {
    return Refuse(EACCES);
  }
  return ScopedFd(open(absl::StrFormat("/proc/self/fd/%d", place.get()).c_str(),
                       O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

bool IsNameOf(std::string_view text, std::string_view allowed) {
  constexpr std::size_t kLongest = 64;
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of(allowed) == text.npos;
}

// Empty: it is none.
std::string KernelPath(std::string_view what) {
  constexpr std::string_view kModule = "module/", kKept = "kept/";
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kOfModules =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  if (what == "kallsyms") return "/proc/kallsyms";
  if (what == "modules") return "/proc/modules";
  if (what == "notes") return "/sys/kernel/notes";
  if (what.starts_with(kModule) &&
      IsNameOf(what.substr(kModule.size()), kOfModules)) {
    return absl::StrFormat("/sys/module/%s/notes/.note.gnu.build-id",
                           what.substr(kModule.size()));
  }
  const char* const home = std::getenv("HOME");
  if (home != nullptr && what.starts_with(kKept) &&
      IsNameOf(what.substr(kKept.size()), kHex)) {
    return absl::StrFormat("%s/.debug/[kernel.kallsyms]/%s/kallsyms", home,
                           what.substr(kKept.size()));
  }
  return "";
}

ScopedFd OpenOfKernel(std::string_view what) {
  const std::string path = KernelPath(what);
  if (path.empty()) return Refuse(EINVAL);
  ScopedFd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (file.is_open() &&
      (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    return Refuse(EACCES);
  }
  return file;
}

struct Answered {
  int error = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

}  // namespace

ScopedFd RequestFile(int socket, FileRequest kind, std::string_view name) {
  std::string request(1, static_cast<char>(kind));
  request += name;
  if (request.size() > kMaxRequest) return Refuse(ENAMETOOLONG);
  ssize_t done = 0;
  do {
    done = write(socket, request.data(), request.size());
  } while (done < 0 && errno == EINTR);
  if (done < 0) return ScopedFd();
  Answered answer;
  iovec part{&answer.error, sizeof(answer.error)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = answer.control;
  message.msg_controllen = sizeof(answer.control);
  do {
    done = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (done < 0 && errno == EINTR);
  if (done != static_cast<ssize_t>(sizeof(answer.error))) return Refuse(EPIPE);
  const cmsghdr* const control = CMSG_FIRSTHDR(&message);
  if (answer.error != 0 || control == nullptr) {
    // No descriptor was left for this process.
    return Refuse(answer.error == 0 ? EMFILE : answer.error);
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof(fd));
  return ScopedFd(fd);
}

FileService::FileService(const std::string& directory)
    : directory_(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

ScopedFd FileService::Open(std::string_view request) {
  if (request.empty()) return Refuse(EINVAL);
  const std::string name(request.substr(1));
  switch (static_cast<FileRequest>(request[0])) {
    case FileRequest::kCreate:
      if (!IsFileName(name)) return Refuse(EINVAL);
      if (++created_ > kMaxCreated) return Refuse(EDQUOT);
      return ScopedFd(openat(directory_.get(), name.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                             0600));
    case FileRequest::kObject:
      if (name.find('\0') != name.npos) return Refuse(EINVAL);
      if (++objects_ > kMaxObjects) return Refuse(EDQUOT);
      return OpenObject(name);
    case FileRequest::kJitDump:
      if (name.find('\0') != name.npos) return Refuse(EINVAL);
      if (++objects_ > kMaxObjects) return Refuse(EDQUOT);
      return OpenJitDump(name);
    case FileRequest::kKernel:
      if (++objects_ > kMaxObjects) return Refuse(EDQUOT);
      return OpenOfKernel(name);
  }
  return Refuse(EINVAL);
}

bool FileService::Answer(int socket) {
  std::string request(kMaxRequest, '\0');
  const ssize_t got =
      recv(socket, request.data(), request.size(), MSG_DONTWAIT);
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
  request.resize(static_cast<std::size_t>(got));
  const ScopedFd file = Open(request);
  Answered answer;
  answer.error = file.is_open() ? 0 : errno;
  iovec part{&answer.error, sizeof(answer.error)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (file.is_open()) {
    message.msg_control = answer.control;
    message.msg_controllen = sizeof(answer.control);
    cmsghdr* const control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = file.get();
    std::memcpy(CMSG_DATA(control), &fd, sizeof(fd));
  }
  // A program that requests and does not read gets no file.
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

}  // namespace countrace::importer
