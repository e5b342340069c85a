#include "runtime/recorder/samples/file_thread.h"

#include <csignal>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace countrace::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kSecond(1);

}  // namespace

struct FileThread::State {
  using Waiting = std::map<std::int32_t, std::deque<Work>>;

  // The process whose turn it is; end(): each has had its bytes.
  Waiting::iterator Next() {
    auto at = waiting.upper_bound(last_pid);
    for (std::size_t i = 0; i < waiting.size(); ++i, ++at) {
      if (at == waiting.end()) at = waiting.begin();
      if (read[at->first] < kMostBytes) return at;
    }
    return waiting.end();
  }

  std::mutex mutex;  // for all below
  std::condition_variable changed;
  Waiting waiting;        // by process
  std::size_t works = 0;  // that wait, or are being done
  bool works_now = false;
  bool ends = false;
  std::int32_t last_pid = 0;
  // Bytes for each process in this second.
  absl::flat_hash_map<std::int32_t, std::uint64_t> read;
  Clock::time_point second;  // when it began
};

FileThread::FileThread() : state_(std::make_shared<State>()) {}

FileThread::~FileThread() {
  if (!thread_) return;
  std::unique_lock lock(state_->mutex);
  state_->ends = true;
  state_->changed.notify_all();
  const bool stuck = !state_->changed.wait_for(
      lock, kSecond / 2, [this] { return !state_->works_now; });
  lock.unlock();
  if (stuck) {
    pthread_detach(*thread_);
  } else {
    pthread_join(*thread_, nullptr);
  }
}

// Unlike std::thread it can fail without an exception. Signals are for the
// recorder's own thread.
bool FileThread::Start() {
  sigset_t all, saved;
  sigfillset(&all);
  auto state = std::make_unique<std::shared_ptr<State>>(state_);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    const std::unique_ptr<std::shared_ptr<State>> own(
        static_cast<std::shared_ptr<State>*>(argument));
    Run(**own);
    return nullptr;
  };
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  if (pthread_create(&thread, nullptr, run, state.get()) == 0) {
    (void)state.release();
    thread_ = thread;
  }
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  return thread_.has_value();
}

bool FileThread::Add(std::int32_t pid, Work work) {
  const std::lock_guard lock(state_->mutex);
  if (!thread_ && !Start()) return false;
  std::deque<Work>& waiting = state_->waiting[pid];
  if (waiting.size() >= kMostWaiting) return false;
  waiting.push_back(std::move(work));
  ++state_->works;
  state_->changed.notify_all();
  return true;
}

std::size_t FileThread::Finish(std::chrono::nanoseconds most) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, most, [this] { return state_->works == 0; });
  state_->waiting.clear();
  return std::exchange(state_->works, state_->works_now ? 1 : 0);
}

void FileThread::Run(State& state) {
  std::unique_lock lock(state.mutex);
  while (!state.ends) {
    if (const auto now = Clock::now(); now - state.second >= kSecond) {
      state.second = now;
      state.read.clear();
    }
    const auto next = state.Next();
    if (next == state.waiting.end()) {
      if (state.waiting.empty()) {
        state.changed.wait(lock);
      } else {
        state.changed.wait_until(lock, state.second + kSecond);
      }
      continue;
    }
    const std::int32_t pid = state.last_pid = next->first;
    const Work work = std::move(next->second.front());
    next->second.pop_front();
    if (next->second.empty()) state.waiting.erase(next);
    state.works_now = true;
    lock.unlock();
    const std::uint64_t bytes = work();
    lock.lock();
    state.works_now = false;
    --state.works;
    state.read[pid] += bytes + kWorkBytes;
    state.changed.notify_all();
  }
}

}  // namespace countrace::runtime
