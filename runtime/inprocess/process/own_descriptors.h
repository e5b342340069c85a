// Descriptors that the runtime has in a program's table, and how it notices
// that they are no longer its own: programs close all that they find (daemons
// do), and then use the numbers themselves.
//
// Async-signal-safe. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_OWN_DESCRIPTORS_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_OWN_DESCRIPTORS_H_

#include <atomic>
#include <cstdint>

namespace countrace::runtime {

// How often the program has closed a range of descriptors:
// interposed_access.cc counts.
extern std::atomic<std::uint32_t> g_ranges_closed
    __attribute__((visibility("hidden")));

// Gives a new descriptor a high number: a program's own take the lowest that
// are free. Returns: the descriptor; the one that was given, if there is no
// room. Negative numbers are returned as they are. Keeps errno.
long MoveUp(long fd) noexcept;

// Makes the table of descriptors large enough for MoveUp(). Where threads share
// it the kernel lets the caller wait for 6 to 15 ms (an RCU grace period),
// which must not be in a hook: called before the helper thread starts, and in a
// forked child. Keeps errno.
void GrowTable() noexcept;

// The kernel's number of a perf event; 0: `fd` is none. May change errno.
std::uint64_t PerfEventId(int fd) noexcept;

// Lives while a thread has a descriptor in the program's table for a moment: no
// range is closed meanwhile, so that the number stays the runtime's.
class DescriptorUse {
 public:
  DescriptorUse() noexcept;
  ~DescriptorUse();
  DescriptorUse(const DescriptorUse&) = delete;
  DescriptorUse& operator=(const DescriptorUse&) = delete;
};

// Lives while the program closes a range: waits, up to 0.1 s, until no
// DescriptorUse is alive.
class RangeClosing {
 public:
  RangeClosing() noexcept;
  ~RangeClosing();
  RangeClosing(const RangeClosing&) = delete;
  RangeClosing& operator=(const RangeClosing&) = delete;
};

// False under valgrind, whose threads need descriptors of its own that it hides
// in the program's table. Reads the environment.
bool MayUseOwnTable() noexcept;

// Takes the calling thread out of the program's table, with a new one that is
// empty. Nothing happens before Linux 5.9.
void UseOwnTable() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_OWN_DESCRIPTORS_H_
