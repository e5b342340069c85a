#include "runtime/recorder/directory/session_file.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "logformat/description/session_files.h"
#include "runtime/pid_namespace.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/pid_namespace.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {

using logformat::SessionControl;

namespace {
constexpr char kUnfinishedFile[] = ".session.part";
}  // namespace

absl::StatusOr<SessionFile> SessionFile::Create(const std::string& directory) {
  // Growing the file would end this process by SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      limit.rlim_cur < sizeof(SessionControl)) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "Cannot record: the limit of file sizes is %d bytes, and a recording "
        "needs %d: raise `ulimit -f`",
        limit.rlim_cur, sizeof(SessionControl)));
  }
  std::string path = directory + "/" + kUnfinishedFile;
  const base::ScopedFd fd(
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.is_open()) return base::ErrnoStatus(errno, "Cannot create " + path);
  // Allocates the blocks now: with a full disk, a later write would be a SIGBUS
  // in an application.
  if (const int error = posix_fallocate(fd.get(), 0, sizeof(SessionControl));
      error != 0) {
    return base::ErrnoStatus(
        error, absl::StrFormat("Cannot allocate %s: bytes=%d", path,
                               sizeof(SessionControl)));
  }
  void* const base = mmap(nullptr, sizeof(SessionControl),
                          PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return base::ErrnoStatus(errno, "Cannot map " + path);
  return SessionFile(static_cast<SessionControl*>(base), directory,
                     std::move(path));
}

SessionFile::SessionFile(SessionFile&& other) noexcept
    : control_(std::exchange(other.control_, nullptr)),
      directory_(std::move(other.directory_)),
      path_(std::move(other.path_)) {}

SessionFile::~SessionFile() {
  if (control_ != nullptr) munmap(control_, sizeof(SessionControl));
}

void SessionFile::Describe() {
  SessionControl& control = *control_;
  control.version = logformat::kSessionVersion;
  control.bytes = sizeof(SessionControl);
  if (getrandom(control.uuid, sizeof(control.uuid), 0) !=
      sizeof(control.uuid)) {
    // Without entropy (early boot), unique on this machine is enough.
    const std::uint64_t words[2] = {MonotonicNs(),
                                    static_cast<std::uint64_t>(getpid())};
    std::memcpy(control.uuid, words, sizeof(control.uuid));
  }
  control.uuid[6] = static_cast<std::uint8_t>((control.uuid[6] & 0x0f) | 0x40);
  control.uuid[8] = static_cast<std::uint8_t>((control.uuid[8] & 0x3f) | 0x80);
  if (const auto boot = base::ReadSmallFile("/proc/sys/kernel/random/boot_id");
      boot.ok()) {
    const auto id = logformat::ParseUuid(boot->substr(0, 36));
    if (id) std::copy(id->begin(), id->end(), control.boot_id);
  }
  control.recorder_pid = getpid();
  control.pid_namespace = OwnPidNamespace();
  const auto cpus = PossibleCpus();
  control.cpus =
      cpus.ok() && !cpus->empty() ? cpus->back() + 1 : 1;  // ids start at 0
  control.realtime_offset_ns = RealtimeOffsetNs();
  control.begin_ns = MonotonicNs();
  gethostname(control.hostname, sizeof(control.hostname) - 1);
  utsname system{};
  if (uname(&system) == 0) {
    std::memcpy(control.kernel_release, system.release,
                strnlen(system.release, sizeof(control.kernel_release) - 1));
  }
  control.state.store(logformat::SessionState::kRecording,
                      std::memory_order_relaxed);  // published by the magic
}

absl::Status SessionFile::Announce() {
  // Pairs with the acquire load of the magic in every joining process: all
  // stores above are visible then.
  std::atomic_ref<std::uint64_t>(control_->magic)
      .store(logformat::kSessionMagic, std::memory_order_release);
  return Rename(logformat::kComingSessionFile);
}

absl::Status SessionFile::Publish() { return Rename(logformat::kSessionFile); }

absl::Status SessionFile::Rename(const std::string& name) {
  std::string path = directory_ + "/" + name;
  if (rename(path_.c_str(), path.c_str()) != 0) {
    return base::ErrnoStatus(errno, "Cannot name " + path);
  }
  path_ = std::move(path);
  return absl::OkStatus();
}

void SessionFile::Stop() {
  // Pairs with the acquire loads in the processes' helper threads.
  control_->state.store(logformat::SessionState::kStopped,
                        std::memory_order_release);
  for (logformat::ProcessSlot& slot : control_->processes) {
    if (slot.owner.load(std::memory_order_acquire) == 0) continue;
    slot.wake.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &slot.wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

std::vector<std::int32_t> SessionFile::AttachedProcesses() const {
  std::vector<std::int32_t> pids;
  for (const logformat::ProcessSlot& slot : control_->processes) {
    const std::uint64_t owner = slot.owner.load(std::memory_order_acquire);
    // Acquire pairs with the release store of `detached`: the process's last
    // records are in its streams.
    if (owner == 0 || slot.detached.load(std::memory_order_acquire) != 0) {
      continue;
    }
    auto pid = static_cast<std::int32_t>(owner);
    const auto pid_namespace = static_cast<std::uint32_t>(owner >> 32);
    if (pid_namespace != 0) pid = FindProcess(pid_namespace, pid);
    if (pid != 0 && IsProcessAlive(pid)) pids.push_back(pid);
  }
  return pids;
}

std::vector<std::uint64_t> SessionFile::JoinedProcesses() const {
  std::vector<std::uint64_t> owners;
  for (const logformat::ProcessSlot& slot : control_->processes) {
    const std::uint64_t owner = slot.owner.load(std::memory_order_acquire);
    if (owner != 0) owners.push_back(owner);
  }
  return owners;
}

}  // namespace countrace::runtime
