#include "runtime/recorder/directory/trace_access.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/small_file.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {
namespace {

constexpr char kList[] = "system.posix_acl_access";
constexpr mode_t kOwnerOnly = 0700;

// linux/posix_acl_xattr.h, little-endian.
enum : std::uint16_t {
  kOwner = 0x01,
  kUser = 0x02,
  kGroup = 0x04,
  kMask = 0x10,
  kOthers = 0x20
};
constexpr std::uint32_t kListVersion = 2;
constexpr std::uint32_t kNoId = ~0u;

void Append(std::vector<std::uint8_t>& list, std::uint16_t tag,
            std::uint16_t permissions, std::uint32_t id) {
  for (const std::uint32_t value :
       {std::uint32_t{tag} | std::uint32_t{permissions} << 16, id}) {
    for (int shift = 0; shift < 32; shift += 8) {
      list.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }
}

// Owner and `users` have `permissions`, all others none.
std::vector<std::uint8_t> AccessList(const std::set<std::uint32_t>& users,
                                     std::uint16_t permissions) {
  std::vector<std::uint8_t> list = {kListVersion, 0, 0, 0};
  Append(list, kOwner, permissions, kNoId);
  for (const std::uint32_t user : users) {
    Append(list, kUser, permissions, user);
  }
  Append(list, kGroup, 0, kNoId);
  Append(list, kMask, permissions, kNoId);
  Append(list, kOthers, 0, kNoId);
  return list;
}

// The user as which a process creates files: the last of the four in
// /proc/PID/status.
std::optional<std::uint32_t> FileUser(std::int32_t pid) {
  const auto status =
      base::ReadSmallFile(absl::StrFormat("/proc/%d/status", pid));
  if (!status.ok()) return std::nullopt;
  const std::size_t at = status->find("\nUid:");
  unsigned user = 0;
  if (at == std::string::npos ||
      std::sscanf(status->c_str() + at, "\nUid: %*u %*u %*u %u",  // NOLINT
                  &user) != 1) {
    return std::nullopt;
  }
  return user;
}

}  // namespace

absl::Status TraceAccess::SetLists() const {
  struct Target {
    const char* file;
    std::uint16_t permissions;
  };
  for (const Target& target :
       {Target{"", 7}, Target{logformat::kSessionFile, 6},
        Target{logformat::kHooksFile, 6}}) {
    const std::string path = trace_ + "/" + target.file;
    const auto list = AccessList(users_, target.permissions);
    if (setxattr(path.c_str(), kList, list.data(), list.size(), 0) != 0) {
      return absl::FailedPreconditionError(
          absl::StrFormat("cannot let other users write to %s: %s", path,
                          std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

absl::Status TraceAccess::GrantTo(std::int32_t pid) {
  if (geteuid() != 0) return absl::OkStatus();
  const std::optional<std::uint32_t> user = FileUser(pid);
  if (!user) {
    return absl::NotFoundError(absl::StrFormat("There is no process %d", pid));
  }
  if (*user == 0 || users_.contains(*user)) return absl::OkStatus();
  // First the sticky bit: no user may remove another user's files.
  if (users_.empty() && chmod(trace_.c_str(), kOwnerOnly | S_ISVTX) != 0) {
    return base::ErrnoStatus(errno, "Cannot change the mode of " + trace_);
  }
  users_.insert(*user);
  const absl::Status set = SetLists();
  if (!set.ok()) users_.erase(*user);
  return set;
}

TraceAccess::~TraceAccess() {
  if (users_.empty()) return;
  // Errors do not matter here: without access to the directory, the lists in it
  // have no effect.
  removexattr(trace_.c_str(), kList);
  chmod(trace_.c_str(), kOwnerOnly);
}

}  // namespace countrace::runtime
