#include "logformat/import/program/file_service.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/elf_head.h"
#include "base/code/jit_dump.h"
#include "base/code/perf_map.h"
#include "base/jail/message.h"
#include "base/posix/regular_file.h"

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

ScopedFd OpenRegular(const std::string& path,
                     base::LastLink link = base::LastLink::kFollowed) {
  auto file = base::OpenRegularFile(path, link);
  if (file.ok()) return *std::move(file);
  return Refuse(absl::IsNotFound(file.status())            ? ENOENT
                : absl::IsResourceExhausted(file.status()) ? EMFILE
                                                           : EACCES);
}

ScopedFd OpenObject(const std::string& path) {
  ScopedFd file = OpenRegular(path);
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return ScopedFd();
  // Reading a file of the kernel, which has no size, can have effects.
  const auto head = status.st_size == 0
                        ? std::nullopt
                        : base::ReadElfHead(base::ReadAtOf(file.get()));
  const bool is_object =
      head && (head->type == ET_EXEC || head->type == ET_DYN);
  return is_object ? std::move(file) : Refuse(EACCES);
}

ScopedFd OpenJitFile(const std::string& path) {
  if (!base::IsJitDumpPath(path) && !base::IsPerfMapPath(path)) {
    return Refuse(EINVAL);
  }
  ScopedFd file = OpenRegular(path, base::LastLink::kRefused);
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return ScopedFd();
  const bool is_ours = status.st_uid == geteuid() || status.st_uid == 0;
  return is_ours ? std::move(file) : Refuse(EACCES);
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

}  // namespace

ScopedFd RequestFile(int socket, FileRequest kind, std::string_view name) {
  std::string request(1, static_cast<char>(kind));
  request += name;
  if (request.size() > kMaxRequest) return Refuse(ENAMETOOLONG);
  if (base::SendBytes(socket, request, -1, 0) < 0) return ScopedFd();
  char answer[sizeof(int)] = {};
  ScopedFd file;
  if (base::ReceiveBytes(socket, answer, sizeof(answer), &file) !=
      ssize_t{sizeof(answer)}) {
    return Refuse(EPIPE);
  }
  int error = 0;
  std::memcpy(&error, answer, sizeof(error));
  if (error != 0) return Refuse(error);
  // No descriptor was left for this process.
  return file.is_open() ? std::move(file) : Refuse(EMFILE);
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
    case FileRequest::kJitFile:
      if (name.find('\0') != name.npos) return Refuse(EINVAL);
      if (++objects_ > kMaxObjects) return Refuse(EDQUOT);
      return OpenJitFile(name);
    case FileRequest::kKernel:
      if (++objects_ > kMaxObjects) return Refuse(EDQUOT);
      if (KernelPath(name).empty()) return Refuse(EINVAL);
      return OpenRegular(KernelPath(name));
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
  const int error = file.is_open() ? 0 : errno;
  char answer[sizeof(error)];
  std::memcpy(answer, &error, sizeof(error));
  // A program that requests and does not read gets no file.
  return base::SendBytes(socket, {answer, sizeof(answer)}, file.get(),
                         MSG_DONTWAIT) >= 0;
}

}  // namespace countrace::importer
