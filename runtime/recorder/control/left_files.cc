#include "runtime/recorder/control/left_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "logformat/session_layout.h"
#include "runtime/control_layout.h"
#include "runtime/pid_namespace.h"
#include "runtime/recorder/control/control_file.h"
#include "runtime/recorder/system/process_scan.h"
#include "runtime/unjoined_place.h"

namespace countrace::runtime {
namespace {

// True if a live process has the page mapped, or may have it.
bool MayBeMapped(std::int32_t pid, std::uint64_t inode) {
  if (!IsProcessAlive(pid)) return false;
  const auto maps = base::ReadSmallFile(absl::StrFormat("/proc/%d/maps", pid));
  return !maps.ok() || FindRuntimeInMaps(*maps).page_inode == inode;
}

// The initial pid namespace, which has all processes: PROC_PID_INIT_INO of
// linux/proc_ns.h.
constexpr std::uint64_t kInitialPidNamespace = 0xeffffffc;

// False only if no process is in that pid namespace: its container is gone.
bool MayHaveProcesses(std::uint64_t pid_namespace) {
  if (pid_namespace == 0 || OwnPidNamespace() != kInitialPidNamespace) {
    return true;
  }
  const auto names = base::ListDirectory(AT_FDCWD, "/proc");
  if (!names.ok()) return true;
  const std::string wanted = absl::StrFormat("pid:[%d]", pid_namespace);
  for (const std::string& name : *names) {
    // Process 1 is in the initial one, also where it may not be looked at.
    if (name == "1" || name.find_first_not_of("0123456789") != name.npos) {
      continue;
    }
    std::error_code error;
    const auto link = std::filesystem::read_symlink(
        absl::StrFormat("/proc/%s/ns/pid", name), error);
    const bool has_ended = error == std::errc::no_such_file_or_directory ||
                           error == std::errc::no_such_process;
    if (error ? !has_ended : link.native() == wanted) return true;
  }
  return false;
}

// Whether any process, of whatever pid namespace, has the file mapped or open
// to write: the kernel refuses a read lease (fcntl(2)) on it then. Absent: the
// file system has no leases.
std::optional<bool> IsOpenToWrite(int file) {
  if (fcntl(file, F_SETLEASE, F_RDLCK) == 0) {
    fcntl(file, F_SETLEASE, F_UNLCK);
    return false;
  }
  return errno == EAGAIN ? std::optional<bool>(true) : std::nullopt;
}

void RemoveControlPage(const std::string& path, std::int32_t pid) {
  // O_NONBLOCK: any user may make a fifo of this name.
  const base::ScopedFd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  std::uint64_t pid_namespace = 0;
  if (!file.is_open() || fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) ||
      // Root removes those of all users: they lose nothing by it.
      (info.st_uid != geteuid() && geteuid() != 0) ||
      pread(file.get(), &pid_namespace, sizeof(pid_namespace),
            offsetof(ControlPage, pid_namespace)) != sizeof(pid_namespace)) {
    return;
  }
  // A forked child may still map what its parent has no use for any more.
  const bool in_use =
      pid_namespace == OwnPidNamespace()
          ? MayBeMapped(pid, info.st_ino)
          : IsOpenToWrite(file.get()).value_or(MayHaveProcesses(pid_namespace));
  if (in_use) return;
  // A new process with this pid may have replaced the file meanwhile.
  struct stat now {};
  if (lstat(path.c_str(), &now) == 0 && now.st_ino == info.st_ino) {
    unlink(path.c_str());
  }
}

// Files of other pid namespaces that have processes, or that name none: their
// process is done with them within seconds.
constexpr time_t kOldSeconds = 60;

bool IsOld(const struct stat& info) {
  return info.st_mtime + kOldSeconds < time(nullptr);
}

struct Maker {
  std::int32_t pid = 0;
  std::uint64_t pid_namespace = 0;  // 0: not named
};

// "PID", "PID-NAMESPACE-..." or "PID-..." behind `prefix` in `name`.
std::optional<Maker> MakerBehind(std::string_view prefix,
                                 std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  Maker maker;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, maker.pid);
  if (parsed.ec != std::errc() || maker.pid <= 0) return std::nullopt;
  if (parsed.ptr == end) return maker;
  if (*parsed.ptr != '-') return std::nullopt;
  std::uint64_t pid_namespace = 0;
  const auto next = std::from_chars(parsed.ptr + 1, end, pid_namespace);
  if (next.ec == std::errc() && next.ptr != end && *next.ptr == '-') {
    maker.pid_namespace = pid_namespace;
  }
  return maker;
}

// Whether its process may still use a file of this age.
bool MayBeInUse(const Maker& maker, bool is_old) {
  if (maker.pid_namespace == OwnPidNamespace()) {
    return IsProcessAlive(maker.pid);
  }
  // Its number is another process's here.
  if (maker.pid_namespace != 0) {
    return !is_old && MayHaveProcesses(maker.pid_namespace);
  }
  return !is_old || IsProcessAlive(maker.pid);
}

void RemoveUnfinished(const std::string& path, const Maker& maker) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || info.st_uid != geteuid() ||
      MayBeInUse(maker, IsOld(info))) {
    return;
  }
  std::error_code ignored;  // remove_all() follows no link
  std::filesystem::remove_all(path, ignored);
}

// A killed recorder leaves it: no one reads it then.
void RemoveUnjoinedPlace(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode) ||
      info.st_uid != geteuid()) {
    return;
  }
  const base::ScopedFd writer(
      open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!writer.is_open() && errno == ENXIO) unlink(path.c_str());
}

}  // namespace

void RemoveLeftPipe(const std::string& directory) {
  RemoveUnjoinedPlace(directory + "/" + logformat::kUnjoinedPipe);
}

void RemoveLeftFiles() {
  const std::string unfinished = absl::StrFormat(".%snew-", kControlPrefix);
  for (const char* folder : kControlFolders) {
    const auto names = base::ListDirectory(AT_FDCWD, folder);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const std::string path = absl::StrFormat("%s/%s", folder, name);
      if (const auto pid = ControlFilePid(name)) RemoveControlPage(path, *pid);
      if (path.starts_with(kUnjoinedPlace)) RemoveUnjoinedPlace(path);
      for (const std::string_view prefix :
           {std::string_view(unfinished),
            std::string_view(kCostFolderPrefix)}) {
        if (const auto maker = MakerBehind(prefix, name)) {
          RemoveUnfinished(path, *maker);
        }
      }
    }
  }
}

}  // namespace countrace::runtime
