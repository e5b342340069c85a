#include "runtime/recorder/session/stop_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace countrace::runtime {
namespace {

// The handler's end of the pipe; -1 while no recording runs.
std::atomic<int> g_write_end{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void OnStopSignal(int number, siginfo_t* info, void*) {
  const int saved = errno;
  const unsigned char message[2] = {
      static_cast<unsigned char>(number),
      static_cast<unsigned char>(info != nullptr && info->si_code <= 0)};
  // A full pipe holds thousands of signals already: a failure loses nothing.
  [[maybe_unused]] const ssize_t written = write(
      g_write_end.load(std::memory_order_relaxed), message, sizeof(message));
  errno = saved;
}

}  // namespace

StopSignals::StopSignals(const std::vector<int>& more) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
    read_end_ = base::ScopedFd(ends[0]);
    write_end_ = base::ScopedFd(ends[1]);
  }
  g_write_end.store(write_end_.get(), std::memory_order_relaxed);
  std::vector<int> numbers = {SIGINT, SIGTERM, SIGHUP};
  numbers.insert(numbers.end(), more.begin(), more.end());
  for (const int number : numbers) {
    Saved saved{number, {}};
    sigaction(number, nullptr, &saved.action);
    // Started by nohup: closing the terminal must not stop the recording.
    if (number == SIGHUP && saved.action.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_sigaction = OnStopSignal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, nullptr) == 0) saved_.push_back(saved);
  }
  sigaction(SIGCHLD, nullptr, &saved_child_);
  if (saved_child_.sa_handler == SIG_IGN ||
      (saved_child_.sa_flags & SA_NOCLDWAIT) != 0) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, nullptr);
  }
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &saved_file_size_);
}

StopSignals::~StopSignals() {
  RestoreInChild();
  g_write_end.store(-1, std::memory_order_relaxed);
}

void StopSignals::RestoreInChild() const {
  for (const Saved& saved : saved_) {
    sigaction(saved.number, &saved.action, nullptr);
  }
  sigaction(SIGCHLD, &saved_child_, nullptr);
  sigaction(SIGXFSZ, &saved_file_size_, nullptr);
}

std::optional<StopSignal> StopSignals::Take() {
  unsigned char message[2];
  if (read(read_end_.get(), message, sizeof(message)) != sizeof(message)) {
    return std::nullopt;
  }
  return StopSignal{.number = message[0], .from_process = message[1] != 0};
}

}  // namespace countrace::runtime
