#include "rmap/samples/code/source_text.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "base/jail/message.h"
#include "base/posix/regular_file.h"
#include "base/posix/scoped_fd.h"

namespace countrace::rmap {
namespace {

using base::ScopedFd;

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
// A file system of the owner's can keep its readers waiting.
constexpr int kWaitSeconds = 5;

// Reading their files has effects, and ends never.
bool IsOfKernel(int file) {
  constexpr std::array<unsigned, 8> kKernel = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,        TRACEFS_MAGIC,       DEBUGFS_MAGIC,
      SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC};
  struct statfs place {};
  return fstatfs(file, &place) != 0 ||
         std::find(kKernel.begin(), kKernel.end(),
                   static_cast<unsigned>(place.f_type)) != kKernel.end();
}

absl::StatusOr<std::string> Read(const std::string& path,
                                 bool readable_by_all) {
  auto file = base::OpenRegularFile(path);
  if (!file.ok()) return file.status();
  struct stat status {};
  if (fstat(file->get(), &status) != 0 || IsOfKernel(file->get())) {
    return absl::FailedPreconditionError("it is a file of the kernel");
  }
  if (readable_by_all && (status.st_mode & S_IROTH) == 0) {
    return absl::PermissionDeniedError("not all users may read it");
  }
  return base::ReadAll(file->get(), kMostBytes);
}

// False: this process cannot become the user.
bool BecomeUser(uid_t user, gid_t group, const std::vector<gid_t>& groups) {
  return setgroups(groups.size(), groups.data()) == 0 &&
         setresgid(group, group, group) == 0 &&
         setresuid(user, user, user) == 0;
}

absl::StatusOr<std::string> ReadAs(uid_t user, const std::string& path) {
  // Without an entry, as in a container: a group that no file is of.
  gid_t group = static_cast<gid_t>(user);
  std::vector<gid_t> groups;
  passwd entry{};
  passwd* known = nullptr;
  std::array<char, 16384> texts;
  if (getpwuid_r(user, &entry, texts.data(), texts.size(), &known) == 0 &&
      known != nullptr) {
    group = entry.pw_gid;
    int count = 256;
    groups.resize(static_cast<std::size_t>(count));
    if (getgrouplist(entry.pw_name, group, groups.data(), &count) < 0) {
      count = 0;
    }
    groups.resize(static_cast<std::size_t>(count));
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::UnavailableError(std::strerror(errno));
  }
  const ScopedFd own(ends[0]);
  ScopedFd other(ends[1]);
  const timeval wait{kWaitSeconds, 0};
  setsockopt(own.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  const pid_t child = fork();
  if (child < 0) return absl::UnavailableError(std::strerror(errno));
  if (child == 0) {
    const bool is_user = BecomeUser(user, group, groups);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // behind the change, which cancels it
    const auto text =
        is_user ? Read(path, /*readable_by_all=*/false)
                : absl::PermissionDeniedError(
                      "this system cannot read as the program's user");
    base::SendMessage(
        other.get(), base::MessageOf(text.status().code(),
                                     std::string(text.status().message()),
                                     text.ok() ? std::string_view(*text) : ""));
    _exit(0);
  }
  other.Reset();
  base::Message message;
  const bool came = base::ReceiveMessage(own.get(), kMostBytes + 4096, message);
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!came) return absl::UnavailableError("it cannot be read in time");
  absl::StatusCode code{};
  std::string why, text;
  base::MessageReader(message.text) >> code >> why >> text;
  if (code != absl::StatusCode::kOk) return absl::Status(code, why);
  return text;
}

}  // namespace

absl::StatusOr<std::string> SourceText(const std::string& path,
                                       std::uint32_t owner) {
  if (!path.starts_with('/')) {
    return absl::NotFoundError("its folder is not known");
  }
  const uid_t self = geteuid();
  if (self == 0 && owner != 0) return ReadAs(owner, path);
  return Read(path, /*readable_by_all=*/owner != 0 && owner != self);
}

}  // namespace countrace::rmap
