#include "runtime/recorder/directory/trace_directory.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/regular_file.h"
#include "base/posix/small_file.h"
#include "logformat/description/trace_directory.h"
#include "logformat/repair/user_folder.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/directory/session_file.h"

namespace countrace::runtime {
namespace {

bool HasPrefix(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

bool IsStreamFile(const std::string& name) {
  return HasPrefix(name, "cpu-") || HasPrefix(name, "thread-") ||
         name == logformat::kClockStream;
}

// Files that a trace of ours may hold; by the format's rule, hidden ones are
// ours.
bool IsTraceFile(const std::string& name) {
  return name == logformat::kMetadataFile || IsStreamFile(name) ||
         name[0] == '.';
}

// A finished trace has our metadata, an unfinished one our session file.
bool LooksLikeTrace(int directory) {
  struct stat info {};
  if (fstatat(directory, logformat::kSessionFile, &info, AT_SYMLINK_NOFOLLOW) ==
          0 ||
      fstatat(directory, logformat::kIncompleteFile, &info,
              AT_SYMLINK_NOFOLLOW) == 0) {
    return true;
  }
  const base::ScopedFd metadata(
      openat(directory, logformat::kMetadataFile,
             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!metadata.is_open()) return false;
  // The writer's name comes after the event classes, of which there can be
  // many.
  constexpr std::uint64_t kMostBytes = 64 << 20;
  const auto text = base::ReadAll(metadata.get(), kMostBytes);
  return text.ok() && text->find("CTF 1.8") != std::string::npos &&
         text->find("tracer_name = \"countrace\"") != std::string::npos;
}

bool IsBeingRecorded(int directory) {
  const base::ScopedFd lock(openat(directory, logformat::kIncompleteFile,
                                   O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return lock.is_open() && flock(lock.get(), LOCK_EX | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK;
}

// What a recording may replace: an empty directory, or a trace of ours that is
// not being recorded.
struct Replaceable {
  base::ScopedFd directory;
  std::vector<std::string> names;
};

absl::StatusOr<Replaceable> OpenReplaceable(const std::string& path) {
  base::ScopedFd directory(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory.is_open()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "Not replaced: %s is not a directory; choose another name with -o",
        path));
  }
  auto names = base::ListDirectory(directory.get(), ".");
  if (!names.ok()) return names.status();
  if (names->empty()) return Replaceable{std::move(directory), {}};
  if (!LooksLikeTrace(directory.get())) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "Not replaced: %s is not a countrace trace; choose another name with "
        "-o",
        path));
  }
  if (IsBeingRecorded(directory.get())) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "Not replaced: %s is being recorded right now; choose another name "
        "with -o",
        path));
  }
  for (const std::string& name : *names) {
    struct stat info {};
    if (HasPrefix(name, logformat::kUserFolderPrefix) ||
        fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) !=
            0) {
      continue;
    }
    // A recorder that was killed leaves its pipe.
    const bool is_pipe =
        name == logformat::kUnjoinedPipe && S_ISFIFO(info.st_mode);
    if (!IsTraceFile(name) || (!S_ISREG(info.st_mode) && !is_pipe)) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "Not replaced: %s holds \"%s\", which is no part of a trace", path,
          name));
    }
  }
  return Replaceable{std::move(directory), *std::move(names)};
}

// Empties an old trace; refuses any other directory and leaves it unchanged.
absl::Status EmptyTrace(const std::string& path) {
  const auto old = OpenReplaceable(path);
  if (!old.ok()) return old.status();
  for (const std::uint32_t user : logformat::UserFolders(path)) {
    logformat::RemoveUserFolder(path, user);
  }
  for (const std::string& name : old->names) {
    if (unlinkat(old->directory.get(), name.c_str(), 0) != 0 &&
        errno != ENOENT) {
      return base::ErrnoStatus(
          errno, absl::StrFormat("Cannot remove %s/%s", path, name));
    }
  }
  return absl::OkStatus();
}

// Absolute, without symbolic links; empty: errno.
std::string Resolved(const std::string& path) {
  char* const resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return {};
  const std::string absolute = resolved;
  free(resolved);
  return absolute;
}

constexpr char kUnnamed[] = ".new-";  // then the number of its maker

// Removes what recorders left at NAME.new-PID that were killed before it was
// NAME, or had not removed the old trace.
void RemoveUnnamed(const std::string& name) {
  const std::size_t folder_bytes = name.rfind('/') + 1;
  const std::string folder = name.substr(0, folder_bytes);
  const std::string begin = name.substr(folder_bytes) + kUnnamed;
  const auto names =
      base::ListDirectory(AT_FDCWD, folder.empty() ? "." : folder);
  if (!names.ok()) return;
  for (const std::string& one : *names) {
    pid_t maker = 0;
    if (!HasPrefix(one, begin) ||
        !absl::SimpleAtoi(one.substr(begin.size()), &maker) || maker <= 0) {
      continue;
    }
    const bool is_gone = kill(maker, 0) != 0 && errno == ESRCH;
    if (is_gone || maker == getpid()) (void)RemoveTrace(folder + one);
  }
}

absl::StatusOr<base::ScopedFd> CreateFile(const std::string& path) {
  base::ScopedFd fd(
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.is_open()) return base::ErrnoStatus(errno, "Cannot create " + path);
  return fd;
}

}  // namespace

std::optional<logformat::SessionMode> ModeOfRecordingAt(
    const std::string& path) {
  const base::ScopedFd directory(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || !IsBeingRecorded(directory.get())) {
    return std::nullopt;
  }
  const base::ScopedFd session(
      openat(directory.get(), logformat::kSessionFile,
             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  logformat::SessionMode mode{};
  if (!session.is_open() ||
      pread(session.get(), &mode, sizeof(mode),
            offsetof(logformat::SessionControl, mode)) != sizeof(mode)) {
    return std::nullopt;
  }
  return mode;
}

absl::Status RemoveTrace(const std::string& path) {
  const absl::Status emptied = EmptyTrace(path);
  if (!emptied.ok()) return emptied;
  if (rmdir(path.c_str()) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "Cannot remove " + path);
}

absl::StatusOr<TraceDirectory> TraceDirectory::Create(const std::string& path,
                                                      bool force) {
  if (path.empty()) {
    return absl::InvalidArgumentError("The output has no name");
  }
  const std::string name = path.substr(0, path.find_last_not_of('/') + 1);
  struct stat info {};
  const bool exists = name.empty() || lstat(name.c_str(), &info) == 0;
  if (exists) {
    if (!force) {
      return absl::AlreadyExistsError(absl::StrFormat(
          "Output exists: %s; --force replaces it, -o chooses another name",
          path));
    }
    const auto old = OpenReplaceable(path);
    if (!old.ok()) return old.status();
    // The owner and the mode of an empty one are its maker's choice.
    if (old->names.empty()) return Fill(path);
  }
  RemoveUnnamed(name);
  const std::string unnamed =
      absl::StrFormat("%s%s%d", name, kUnnamed, getpid());
  if (mkdir(unnamed.c_str(), 0700) != 0 && !exists) {
    return base::OutputStatus(errno,
                              "Cannot create the trace directory " + path);
  }
  auto made = Fill(unnamed);
  if (made.ok()) {
    const unsigned flag = exists ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    int result =
        renameat2(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), flag);
    // Some file systems have no flags.
    if (result != 0 && errno == EINVAL && !exists) {
      result = rename(unnamed.c_str(), name.c_str());
    }
    if (result == 0) {
      if (exists) (void)RemoveTrace(unnamed);
      made->path_ = Resolved(name);
      return made;
    }
    made->Remove();
  } else {
    rmdir(unnamed.c_str());
  }
  if (!exists) {
    if (!made.ok()) return made.status();
    return base::OutputStatus(errno,
                              "Cannot create the trace directory " + path);
  }
  // A mount point, or its parent directory cannot be written.
  const absl::Status emptied = EmptyTrace(path);
  if (!emptied.ok()) return emptied;
  return Fill(path);
}

absl::StatusOr<TraceDirectory> TraceDirectory::Fill(const std::string& path) {
  const std::string absolute = Resolved(path);
  if (absolute.empty()) {
    return base::ErrnoStatus(errno, "Cannot resolve " + path);
  }
  auto lock = CreateFile(absolute + "/" + logformat::kIncompleteFile);
  if (!lock.ok()) return lock.status();
  struct stat made {};
  if (flock(lock->get(), LOCK_EX | LOCK_NB) != 0 ||
      fstat(lock->get(), &made) != 0) {
    return base::ErrnoStatus(errno, "Cannot lock " + absolute);
  }
  const int incomplete = lock->get();
  TraceDirectory directory(absolute, *std::move(lock));
  const auto hooks = CreateFile(absolute + "/" + logformat::kHooksFile);
  absl::Status status = hooks.status();
  if (status.ok()) {
    auto session = SessionFile::Create(absolute);
    status = session.status();
    if (status.ok()) {
      // Without it, on a full disk, copies are read as a dead one's traces.
      const std::string text = logformat::IncompleteText(made.st_ino);
      (void)!pwrite(incomplete, text.data(), text.size(), 0);
      session->Describe();
      status = session->Announce();
    }
  }
  if (!status.ok()) {
    directory.Remove();
    return status;
  }
  return directory;
}

base::ScopedFd TraceDirectory::OpenDirectory(const std::string& path) {
  return base::ScopedFd(
      open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

std::string TraceDirectory::steady_path() const {
  // The dot: a link is refused as a trace.
  const std::string path =
      absl::StrFormat("/proc/self/fd/%d/.", directory_.get());
  return access(path.c_str(), F_OK) == 0 ? path : path_;
}

bool TraceDirectory::FollowRename() {
  char name[PATH_MAX];
  const std::string link =
      absl::StrFormat("/proc/self/fd/%d", directory_.get());
  const ssize_t bytes = readlink(link.c_str(), name, sizeof(name));
  // A removed one has the name of none, "PATH (deleted)".
  const std::string now(name, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  if (now.empty() || now == path_) return false;
  const base::ScopedFd there = OpenDirectory(now);
  struct stat ours {
  }, theirs{};
  if (!there.is_open() || fstat(there.get(), &theirs) != 0 ||
      fstat(directory_.get(), &ours) != 0 || ours.st_ino != theirs.st_ino ||
      ours.st_dev != theirs.st_dev) {
    return false;
  }
  path_ = now;
  return true;
}

std::uint64_t TraceDirectory::DiskBytes() const {
  const base::ScopedFd directory(
      open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto names = base::ListDirectory(directory.get(), ".");
  if (!names.ok()) return 0;
  std::uint64_t bytes = 0;
  for (const std::string& name : *names) {
    struct stat info {};
    if (IsStreamFile(name) && fstatat(directory.get(), name.c_str(), &info,
                                      AT_SYMLINK_NOFOLLOW) == 0) {
      // Streams are pre-sized: count the blocks they use.
      bytes += static_cast<std::uint64_t>(
          std::min<off_t>(info.st_size, info.st_blocks * 512));
    }
  }
  return bytes;
}

// It is ours, also while another process has its lock.
void TraceDirectory::Remove() {
  const base::ScopedFd directory(
      open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  for (const std::uint32_t user : logformat::UserFolders(path_)) {
    logformat::RemoveUserFolder(path_, user);
  }
  const auto names = base::ListDirectory(directory.get(), ".");
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (IsTraceFile(name)) unlinkat(directory.get(), name.c_str(), 0);
  }
  rmdir(path_.c_str());
}

}  // namespace countrace::runtime
