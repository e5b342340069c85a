#include "runtime/inprocess/process_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// System calls go through syscall(2): unlike the libc wrappers it is no
// cancellation point and is not replaced by programs that wrap open or read.

namespace countrace::runtime {

namespace lf = countrace::logformat;

lf::SessionControl* g_session = nullptr;
char g_session_path[4096];
ProcessState* g_process = nullptr;

namespace {

constexpr std::size_t kArenaChunkBytes = 256 * 1024;
constexpr std::size_t kKernelSignalMaskBytes = 8;

void* MapWipedOnFork(std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (madvise(memory, bytes, MADV_WIPEONFORK) != 0) {
    munmap(memory, bytes);
    return nullptr;
  }
  return memory;
}

lf::SessionControl* MapSession(const char* path) noexcept {
  char file[4096 + 16];
  const std::size_t length = strlen(path);
  if (length == 0 || length >= sizeof(g_session_path) || path[0] != '/') {
    return nullptr;
  }
  memcpy(file, path, length);
  memcpy(file + length, "/", 1);
  memcpy(file + length + 1, lf::kSessionFile, sizeof(lf::kSessionFile));
  const long fd = syscall(SYS_openat, AT_FDCWD, file,
                          O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0);
  if (fd < 0) return nullptr;
  struct stat status;
  void* memory = MAP_FAILED;
  if (fstat(static_cast<int>(fd), &status) == 0 &&
      status.st_size >= static_cast<off_t>(sizeof(lf::SessionControl))) {
    memory = mmap(nullptr, sizeof(lf::SessionControl), PROT_READ | PROT_WRITE,
                  MAP_SHARED, static_cast<int>(fd), 0);
  }
  syscall(SYS_close, fd);
  if (memory == MAP_FAILED) return nullptr;
  auto* session = static_cast<lf::SessionControl*>(memory);
  if (session->magic != lf::kSessionMagic ||
      session->version != lf::kFormatVersion ||
      session->bytes != sizeof(lf::SessionControl)) {
    munmap(memory, sizeof(lf::SessionControl));
    return nullptr;
  }
  memcpy(g_session_path, path, length + 1);
  return session;
}

// Claims a slot of the session's process table; the same slot again after exec.
lf::ProcessSlot* ClaimSlot(std::int32_t pid) noexcept {
  for (std::size_t i = 0; i < lf::kProcessSlots; ++i) {
    lf::ProcessSlot& slot =
        g_session->processes[(static_cast<std::size_t>(pid) + i) %
                             lf::kProcessSlots];
    std::int32_t expected = 0;
    if (slot.pid.load(std::memory_order_relaxed) == pid ||
        slot.pid.compare_exchange_strong(expected, pid)) {
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
    syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
  }
}

void FutexLock::Unlock() noexcept {
  if (word_.exchange(0, std::memory_order_release) == 2) {
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

SignalBlock::SignalBlock() noexcept : saved_errno_(errno) {
  const std::uint64_t all = ~std::uint64_t{0};
  syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &saved_mask_,
          kKernelSignalMaskBytes);
}

SignalBlock::~SignalBlock() {
  syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &saved_mask_, nullptr,
          kKernelSignalMaskBytes);
  errno = saved_errno_;
}

bool JoinSession() noexcept {
  // secure_getenv: a set-user-id program must not write where its caller says.
  const char* path = secure_getenv(lf::kSessionEnvironment);
  if (path == nullptr) return false;
  const int saved_errno = errno;
  auto* state =
      static_cast<ProcessState*>(MapWipedOnFork(sizeof(ProcessState)));
  if (state != nullptr) {
    g_session = MapSession(path);
    if (g_session != nullptr && SessionIsRecording()) {
      g_process = state;
    } else {
      munmap(state, sizeof(ProcessState));
    }
  }
  errno = saved_errno;
  return g_process != nullptr;
}

void EnsureProcessInitialised() noexcept {
  if (g_process->pid.load(std::memory_order_acquire) != 0) return;
  g_process->lock.Lock();
  if (g_process->pid.load(std::memory_order_relaxed) == 0) {
    const auto pid = static_cast<std::int32_t>(syscall(SYS_getpid));
    g_process->slot.store(ClaimSlot(pid), std::memory_order_relaxed);
    g_session->processes_joined.fetch_add(1, std::memory_order_relaxed);
    g_process->pid.store(pid, std::memory_order_release);
  }
  g_process->lock.Unlock();
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
