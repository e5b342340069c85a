#include "base/posix/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace countrace::base {

// An entry of a list that only grows, as the signal handler walks it without a
// lock. `begin` is 0 while no guard uses the entry.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  // of the last page
  std::atomic<bool> has_zeros{false};
  GuardedRange* next = nullptr;       // of all, set once
  GuardedRange* next_free = nullptr;  // under the lock
};

namespace {

std::atomic<GuardedRange*> g_ranges{nullptr};
std::uintptr_t g_page_bytes = 0;

std::mutex g_lock;  // of the following
GuardedRange* g_free = nullptr;
std::size_t g_guards = 0;
struct sigaction g_before;

void OnBusError(int signal, siginfo_t* info, void*) {
  const int kept_errno = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  // Not of a process that sends the signal: that one has no address.
  const bool is_fault = info->si_code > 0;
  for (GuardedRange* range = g_ranges.load(std::memory_order_acquire);
       is_fault && range != nullptr; range = range->next) {
    const std::uintptr_t begin = range->begin.load(std::memory_order_acquire);
    const std::uintptr_t end = range->end.load(std::memory_order_relaxed);
    if (begin == 0 || address < begin || address >= end) continue;
    const std::uintptr_t page = address / g_page_bytes * g_page_bytes;
    if (mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
      break;
    }
    range->has_zeros.store(true, std::memory_order_relaxed);
    errno = kept_errno;
    return;
  }
  // The fault repeats under the handler that was there before.
  sigaction(signal, &g_before, nullptr);
  if (!is_fault) raise(signal);
  errno = kept_errno;
}

void InstallHandler() {
  g_page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &g_before);
}

void RemoveHandler() {
  struct sigaction now = {};
  sigaction(SIGBUS, nullptr, &now);
  // Else another handler came later, and may call this one.
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == OnBusError) {
    sigaction(SIGBUS, &g_before, nullptr);
  }
}

}  // namespace

MappingGuard::MappingGuard(const std::byte* data, std::size_t bytes) {
  const std::lock_guard lock(g_lock);
  if (g_guards++ == 0) InstallHandler();
  range_ = g_free;
  if (range_ != nullptr) {
    g_free = range_->next_free;
  } else {
    range_ = new GuardedRange;
    range_->next = g_ranges.load(std::memory_order_relaxed);
    g_ranges.store(range_, std::memory_order_release);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t pages = (bytes + g_page_bytes - 1) / g_page_bytes;
  range_->has_zeros.store(false, std::memory_order_relaxed);
  range_->end.store(begin + pages * g_page_bytes, std::memory_order_relaxed);
  range_->begin.store(begin, std::memory_order_release);
}

MappingGuard::~MappingGuard() {
  if (range_ == nullptr) return;
  const std::lock_guard lock(g_lock);
  range_->begin.store(0, std::memory_order_release);
  range_->next_free = g_free;
  g_free = range_;
  if (--g_guards == 0) RemoveHandler();
}

bool MappingGuard::has_zeros() const {
  return range_ != nullptr && range_->has_zeros.load(std::memory_order_relaxed);
}

}  // namespace countrace::base
