// The thread that opens and reads files of sampled programs while a recording
// runs. Their owners may make that slow, and a slow disk is: the thread that
// drains the rings never waits for it.
//
// In: pieces of work, each for a process. All processes take turns, and none
// may have more than 4 MiB read for it in a second. Thread: the caller's.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_FILE_THREAD_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_FILE_THREAD_H_

#include <pthread.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace countrace::runtime {

class FileThread {
 public:
  // Returns the bytes that it read. It may run when the caller is gone: what it
  // uses is its own, or shared.
  using Work = std::function<std::uint64_t()>;

  static constexpr std::uint64_t kMostBytes = 4 << 20;  // a process and second
  static constexpr std::uint64_t kWorkBytes = 1024;     // counted for each work
  static constexpr std::size_t kMostWaiting = 4096;     // of a process

  FileThread();
  ~FileThread();
  FileThread(const FileThread&) = delete;
  FileThread& operator=(const FileThread&) = delete;

  // False: too much of the process is waiting, or there can be no thread; the
  // work will not be done.
  bool Add(std::int32_t pid, Work work);
  // Waits until all is done. Returns how much of it is not by then, which is
  // left undone.
  std::size_t Finish(std::chrono::nanoseconds most);

 private:
  struct State;
  bool Start();
  static void Run(State& state);

  // Shared with the thread: one that is stuck in a file is left to itself.
  const std::shared_ptr<State> state_;
  std::optional<pthread_t> thread_;  // from the first work on
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_FILE_THREAD_H_
