#include "runtime/recorder/directory/user_sessions.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/small_file.h"
#include "logformat/repair/user_folder.h"
#include "runtime/recorder/system/pid_namespace.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

using logformat::ProcessSlot;
using logformat::SessionControl;

constexpr mode_t kOwnerOnly = 0700;
// Other users reach their folders by name; our files have mode 0600.
constexpr mode_t kOthersPass = 0711;
constexpr std::size_t kSlotsAt = offsetof(SessionControl, processes);

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

// A new file of `user`, to read and write.
absl::StatusOr<base::ScopedFd> CreateFor(std::uint32_t user,
                                         const std::string& path) {
  base::ScopedFd fd(open(
      path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open() || fchown(fd.get(), user, static_cast<gid_t>(-1)) != 0) {
    return base::ErrnoStatus(errno, "Cannot create " + path);
  }
  return fd;
}

// The session as a user's processes find it: with no process and no loss.
std::unique_ptr<SessionControl> Copy(const SessionControl& session) {
  auto copy = std::make_unique<SessionControl>();
  const auto* const from = reinterpret_cast<const std::byte*>(&session);
  std::copy_n(from, kSlotsAt, reinterpret_cast<std::byte*>(copy.get()));
  for (auto& count : copy->discarded_by_cause) count.store(0);
  copy->last_errno.store(0);
  copy->late_sub_buffers.store(0);
  copy->used_bytes.store(0);
  copy->processes_joined.store(0);
  return copy;
}

// Null: its user cut it.
std::unique_ptr<SessionControl> Read(int session) {
  auto copy = std::make_unique<SessionControl>();
  void* const to = copy.get();
  if (pread(session, to, sizeof(*copy), 0) !=
      static_cast<ssize_t>(sizeof(*copy))) {
    return nullptr;
  }
  return copy;
}

}  // namespace

void UserSessions::Unmapper::operator()(void* page) const {
  munmap(page, sizeof(SessionControl));
}

UserSessions::~UserSessions() {
  if (users_.empty()) return;
  // Errors do not matter here: FinishTrace() trusts nothing in these folders.
  (void)chmod(trace_.c_str(), kOwnerOnly);
  for (const auto& [user, session] : users_) {
    (void)lchown(session.path.c_str(), 0, static_cast<gid_t>(-1));
  }
}

absl::StatusOr<UserSessions::UserSession> UserSessions::Create(
    std::uint32_t user) const {
  UserSession made;
  made.path = trace_ + "/" + logformat::UserFolderName(user);
  if (mkdir(made.path.c_str(), kOwnerOnly) != 0) {
    return base::ErrnoStatus(errno, "Cannot create " + made.path);
  }
  auto lock = CreateFor(user, made.path + "/" + logformat::kIncompleteFile);
  if (!lock.ok()) return lock.status();
  (void)flock(lock->get(), LOCK_EX | LOCK_NB);
  const auto hooks = CreateFor(user, made.path + "/" + logformat::kHooksFile);
  if (!hooks.ok()) return hooks.status();
  auto session = CreateFor(user, made.path + "/" + logformat::kSessionFile);
  if (!session.ok()) return session.status();
  const std::unique_ptr<SessionControl> copy = Copy(session_);
  const void* const data = copy.get();
  if (pwrite(session->get(), data, sizeof(*copy), 0) !=
      static_cast<ssize_t>(sizeof(*copy))) {
    return base::ErrnoStatus(errno, "Cannot write the session in " + made.path);
  }
  void* const pages =
      mmap(nullptr, sizeof(SessionControl), PROT_READ | PROT_WRITE, MAP_SHARED,
           session->get(), 0);
  if (pages == MAP_FAILED) {
    return base::ErrnoStatus(errno, "Cannot map the session in " + made.path);
  }
  made.wake_pages.reset(pages);
  made.lock = *std::move(lock);
  made.session = *std::move(session);
  // Last: from now on it is the user's.
  if (lchown(made.path.c_str(), user, static_cast<gid_t>(-1)) != 0 ||
      chmod(trace_.c_str(), kOthersPass) != 0) {
    return base::ErrnoStatus(errno,
                             "Cannot open " + made.path + " to its user");
  }
  return made;
}

absl::StatusOr<std::string> UserSessions::DirectoryFor(std::int32_t pid) {
  if (geteuid() != 0) return trace_;
  const std::optional<std::uint32_t> user = FileUser(pid);
  if (!user) {
    return absl::NotFoundError(absl::StrFormat("There is no process %d", pid));
  }
  if (*user == 0) return trace_;
  if (const auto known = users_.find(*user); known != users_.end()) {
    return known->second.path;
  }
  if (session_.mode == logformat::SessionMode::kFlight) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "process %d belongs to user %d: a flight recording of root keeps the "
        "hooks of root's programs only; record without --flight, or as that "
        "user",
        pid, *user));
  }
  auto made = Create(*user);
  if (!made.ok()) {
    logformat::RemoveUserFolder(trace_, *user);
    return made.status();
  }
  return users_.emplace(*user, *std::move(made)).first->second.path;
}

void UserSessions::Stop() {
  const auto stopped = logformat::SessionState::kStopped;
  for (const auto& [user, session] : users_) {
    (void)!pwrite(session.session.get(), &stopped, sizeof(stopped),
                  offsetof(SessionControl, state));
    for (std::size_t i = 0; i < logformat::kProcessSlots; ++i) {
      const std::size_t at = kSlotsAt + i * sizeof(ProcessSlot);
      ProcessSlot slot{};
      void* const to = &slot;
      if (pread(session.session.get(), to, sizeof(slot),
                static_cast<off_t>(at)) != sizeof(slot)) {
        break;  // its user cut it
      }
      if (slot.owner.load() == 0) continue;
      const std::uint32_t wake = slot.wake.load() + 1;
      const std::size_t word = at + offsetof(ProcessSlot, wake);
      (void)!pwrite(session.session.get(), &wake, sizeof(wake),
                    static_cast<off_t>(word));
      syscall(SYS_futex, static_cast<char*>(session.wake_pages.get()) + word,
              FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
  }
}

std::vector<std::uint64_t> UserSessions::JoinedProcesses() const {
  std::vector<std::uint64_t> owners;
  for (const auto& [user, session] : users_) {
    const auto copy = Read(session.session.get());
    if (copy == nullptr) continue;
    for (const ProcessSlot& slot : copy->processes) {
      if (slot.owner.load() != 0) owners.push_back(slot.owner.load());
    }
  }
  return owners;
}

std::vector<std::int32_t> UserSessions::AttachedProcesses() const {
  std::vector<std::int32_t> pids;
  for (const auto& [user, session] : users_) {
    const auto copy = Read(session.session.get());
    if (copy == nullptr) continue;
    for (const ProcessSlot& slot : copy->processes) {
      const std::uint64_t owner = slot.owner.load();
      if (owner == 0 || slot.detached.load() != 0) continue;
      auto pid = static_cast<std::int32_t>(owner);
      const auto pid_namespace = static_cast<std::uint32_t>(owner >> 32);
      if (pid_namespace != 0) pid = FindProcess(pid_namespace, pid);
      // A slot may name any process.
      if (pid > 0 && IsProcessAlive(pid) && FileUser(pid) == user) {
        pids.push_back(pid);
      }
    }
  }
  return pids;
}

}  // namespace countrace::runtime
