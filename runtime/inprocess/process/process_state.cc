#include "runtime/inprocess/process/process_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/own_namespaces.h"
#include "runtime/inprocess/process/session_limits.h"
#include "runtime/inprocess/process/system_calls.h"

// System calls are instructions of our own (base/posix/own_call.h): no
// cancellation point, and no program or preloaded library replaces them.

namespace countrace::runtime {

namespace lf = countrace::logformat;

lf::SessionControl* g_session = nullptr;
lf::SessionControl* g_settings = nullptr;
char g_session_path[4096];
ProcessState* g_process = nullptr;

namespace {

constexpr std::size_t kArenaChunkBytes = 256 * 1024;
constexpr std::size_t kKernelSignalMaskBytes = 8;

void* MapWipedOnFork(std::size_t bytes) noexcept {
  void* memory = base::OwnMap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (base::OwnCall(SYS_madvise, memory, bytes, MADV_WIPEONFORK) != 0) {
    base::OwnCall(SYS_munmap, memory, bytes);
    return nullptr;
  }
  return memory;
}

constexpr std::size_t kSessionBytes =
    (sizeof(lf::SessionControl) + 4095) / 4096 * 4096;
std::uint32_t g_session_tag = 0;
// The file `.session` that is mapped.
dev_t g_session_device;
ino_t g_session_inode;

bool SessionFile(const char* folder, char (&file)[4096 + 16]) noexcept {
  const std::size_t length = strlen(folder);
  if (length == 0 || length >= sizeof(g_session_path) || folder[0] != '/') {
    return false;
  }
  memcpy(file, folder, length);
  memcpy(file + length, "/", 1);
  memcpy(file + length + 1, lf::kSessionFile, sizeof(lf::kSessionFile));
  return true;
}

// All of a session but its table of processes.
constexpr std::size_t kSettingsBytes =
    (offsetof(lf::SessionControl, processes) + 4095) / 4096 * 4096;

void* MapZeros(void* at, std::size_t bytes) noexcept {
  return base::OwnMap(
      at, bytes, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
}

// A copy of the settings in `fd`; null: it is no session that we can join.
// Read, not mapped: another process may cut the file.
lf::SessionControl* CopySettings(int fd) noexcept {
  void* const memory = MapZeros(nullptr, kSettingsBytes);
  if (memory == MAP_FAILED) return nullptr;
  auto* const copy = static_cast<lf::SessionControl*>(memory);
  struct stat status;
  if (base::OwnCall(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size >= static_cast<off_t>(sizeof(lf::SessionControl)) &&
      base::OwnCall(SYS_pread64, fd, memory,
                    offsetof(lf::SessionControl, processes),
                    0L) == offsetof(lf::SessionControl, processes) &&
      copy->state.load(std::memory_order_acquire) ==
          lf::SessionState::kRecording &&
      IsWithinLimits(*copy)) {
    return copy;
  }
  base::OwnCall(SYS_munmap, memory, kSettingsBytes);
  return nullptr;
}

// Takes the place of g_settings in one step, so that a late reader never
// faults.
bool UseSettings(lf::SessionControl* settings) noexcept {
  return base::OwnRemap(settings, kSettingsBytes, kSettingsBytes,
                        MREMAP_MAYMOVE | MREMAP_FIXED,
                        g_settings) != MAP_FAILED;
}

// Claims a slot of the session's process table; after an exec, the same slot.
lf::ProcessSlot* ClaimSlot(std::int32_t pid) noexcept {
  const std::uint32_t own = KnownPidNamespace();
  const bool other = own != 0 && g_settings->pid_namespace != 0 &&
                     own != g_settings->pid_namespace;
  g_process->other_namespace.store(other ? own : 0, std::memory_order_relaxed);
  const std::uint64_t owner = lf::SlotOwner(pid, other ? own : 0);
  for (std::size_t i = 0; i < lf::kProcessSlots; ++i) {
    lf::ProcessSlot& slot =
        g_session->processes[(static_cast<std::size_t>(pid) + i) %
                             lf::kProcessSlots];
    std::uint64_t expected = 0;
    if (slot.owner.load(std::memory_order_relaxed) == owner ||
        slot.owner.compare_exchange_strong(expected, owner)) {
      slot.detached.store(0, std::memory_order_relaxed);
      return &slot;
    }
  }
  return nullptr;  // table full: the recorder will not wait for this process
}

}  // namespace

void FutexLock::Lock() noexcept {
  std::uint32_t free = 0;
  if (word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
  while (word_.exchange(2, std::memory_order_acquire) != 0) {
    if (!MayCall()) continue;  // its holders hold it for microseconds
    // A holder that must make no system calls does not wake.
    const timespec longest = {0, 10'000'000};
    base::OwnCall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 2, &longest, nullptr,
                  0);
  }
}

void FutexLock::Unlock() noexcept {
  if (word_.exchange(0, std::memory_order_release) == 2 && MayCall()) {
    base::OwnCall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr,
                  0);
  }
}

SignalBlock::SignalBlock() noexcept : saved_errno_(errno), blocked_(MayCall()) {
  if (!blocked_) return;
  const std::uint64_t all = ~std::uint64_t{0};
  base::OwnCall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &saved_mask_,
                kKernelSignalMaskBytes);
}

SignalBlock::~SignalBlock() {
  if (blocked_) {
    base::OwnCall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &saved_mask_,
                  nullptr, kKernelSignalMaskBytes);
  }
  errno = saved_errno_;
}

bool PrepareProcess() noexcept {
  const int saved_errno = errno;
  auto* state =
      static_cast<ProcessState*>(MapWipedOnFork(sizeof(ProcessState)));
  void* session = MapZeros(nullptr, kSessionBytes);
  void* settings = MapZeros(nullptr, kSettingsBytes);
  if (state != nullptr && session != MAP_FAILED && settings != MAP_FAILED) {
    g_session = static_cast<lf::SessionControl*>(session);
    g_settings = static_cast<lf::SessionControl*>(settings);
    g_process = state;
  } else {
    if (state != nullptr)
      base::OwnCall(SYS_munmap, state, sizeof(ProcessState));
    if (session != MAP_FAILED)
      base::OwnCall(SYS_munmap, session, kSessionBytes);
    if (settings != MAP_FAILED)
      base::OwnCall(SYS_munmap, settings, kSettingsBytes);
  }
  errno = saved_errno;
  return g_process != nullptr;
}

void EnsureProcessInitialised() noexcept {
  if (g_process->pid.load(std::memory_order_acquire) != 0) return;
  g_process->lock.Lock();
  if (g_process->pid.load(std::memory_order_relaxed) == 0) {
    const auto pid = static_cast<std::int32_t>(base::OwnCall(SYS_getpid));
    if (SessionIsMapped()) {
      if (g_process->clock_ahead_known.load(std::memory_order_relaxed) == 0) {
        g_process->clock_ahead_ns.store(KnownTimeOffsetNs(),
                                        std::memory_order_relaxed);
      }
      g_process->slot.store(ClaimSlot(pid), std::memory_order_relaxed);
      g_session->processes_joined.fetch_add(1, std::memory_order_relaxed);
    }
    g_process->pid.store(pid, std::memory_order_release);
  }
  g_process->lock.Unlock();
}

ControlStatus MapSession(const char* path, int* error) noexcept {
  char file[4096 + 16];
  *error = ENAMETOOLONG;
  if (!SessionFile(path, file)) return ControlStatus::kCannotOpen;
  const long fd = base::OwnCall(SYS_openat, AT_FDCWD, file,
                                O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0);
  *error = errno;
  if (fd < 0) return ControlStatus::kCannotOpen;
  *error = 0;
  ControlStatus result = ControlStatus::kNotRecording;
  struct stat status;
  if (lf::SessionControl* const copy = CopySettings(static_cast<int>(fd));
      copy != nullptr &&
      base::OwnCall(SYS_fstat, static_cast<int>(fd), &status) == 0) {
    memcpy(g_session_path, path, strlen(path) + 1);
    g_session_device = status.st_dev;
    g_session_inode = status.st_ino;
    g_session_tag = g_session_tag % 0x7fff + 1;
    if (base::OwnMap(g_session, kSessionBytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED, static_cast<int>(fd),
                     0) != MAP_FAILED &&
        UseSettings(copy)) {
      result = ControlStatus::kOk;
    } else {
      *error = errno;
      base::OwnCall(SYS_munmap, copy, kSettingsBytes);
      (void)MapZeros(g_session, kSessionBytes);
      result = ControlStatus::kCannotOpen;
    }
  }
  base::OwnCall(SYS_close, fd);
  return result;
}

bool SessionIsMapped() noexcept {
  return g_settings != nullptr && g_settings->magic != 0;
}

bool SessionIs(const char* path) noexcept {
  return SessionIsMapped() && strcmp(path, g_session_path) == 0;
}

bool SessionPathIsValid() noexcept {
  char file[4096 + 16];
  struct stat status;
  return SessionFile(g_session_path, file) &&
         base::OwnCall(SYS_newfstatat, AT_FDCWD, file, &status,
                       AT_SYMLINK_NOFOLLOW) == 0 &&
         status.st_dev == g_session_device && status.st_ino == g_session_inode;
}

std::uint32_t SessionTag() noexcept { return g_session_tag; }

void EnterSession() noexcept {
  const std::int32_t pid = g_process->pid.load(std::memory_order_relaxed);
  if (pid != 0) {  // else: EnsureProcessInitialised does it
    g_process->slot.store(ClaimSlot(pid), std::memory_order_relaxed);
    g_session->processes_joined.fetch_add(1, std::memory_order_relaxed);
  }
  g_process->retry_at_ns.store(0, std::memory_order_relaxed);
  g_process->slow_path_closed.store(0, std::memory_order_seq_cst);
}

void LeaveSession() noexcept {
  lf::ProcessSlot* slot = g_process->slot.exchange(nullptr);
  // Release: pairs with the recorder's acquire; our last records are written.
  if (slot != nullptr) slot->detached.store(1, std::memory_order_release);
  // One step for all readers. Without memory the ended session stays mapped:
  // the process cannot join again, and reports that.
  if (MapZeros(g_session, kSessionBytes) != MAP_FAILED) {
    (void)MapZeros(g_settings, kSettingsBytes);
  }
}

void* AllocateWipedOnFork(std::size_t bytes) noexcept {
  if (g_process->arena_bytes < bytes) {
    void* chunk = MapWipedOnFork(kArenaChunkBytes);
    if (chunk == nullptr || bytes > kArenaChunkBytes) return nullptr;
    g_process->arena = static_cast<std::byte*>(chunk);
    g_process->arena_bytes = kArenaChunkBytes;
  }
  void* memory = g_process->arena;
  g_process->arena += bytes;
  g_process->arena_bytes -= bytes;
  return memory;
}

bool SessionIsRecording() noexcept {
  return g_session != nullptr &&
         g_session->state.load(std::memory_order_acquire) ==
             lf::SessionState::kRecording;
}

void CountSessionDiscard(lf::DiscardCause cause, int error) noexcept {
  g_session->discarded_by_cause[static_cast<std::uint32_t>(cause)].fetch_add(
      1, std::memory_order_relaxed);
  if (error != 0) {
    g_session->last_errno.store(static_cast<std::uint32_t>(error),
                                std::memory_order_relaxed);
  }
}

}  // namespace countrace::runtime
