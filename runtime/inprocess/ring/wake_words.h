// Sleeps until one of a few futex words changes. The words lie in different
// files: those of our own threads, of a controller, of the recorder.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_WAKE_WORDS_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_WAKE_WORDS_H_

#include <atomic>
#include <cstdint>

namespace countrace::runtime {

class WakeWords {
 public:
  // Adds a word (null: none) and stores its value. A change from now on ends
  // Wait(). At most three.
  void Add(std::atomic<std::uint32_t>* word) noexcept;

  // True: nothing changed for `timeout_ns` (all ones: no timeout). May return
  // early.
  bool Wait(std::uint64_t timeout_ns) const noexcept;

 private:
  bool WaitForAny(std::uint64_t timeout_ns, int* error) const noexcept;
  bool AnyChanged() const noexcept;

  static constexpr std::uint32_t kMaxWords = 3;
  std::atomic<std::uint32_t>* word_[kMaxWords] = {};
  std::uint32_t seen_[kMaxWords] = {};
  std::uint32_t count_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_WAKE_WORDS_H_
