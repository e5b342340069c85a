// Blocked time of threads, by the segment they blocked in and by what ended it.
//
//   running --(switch-out, neither runnable nor dead)--> blocked
//   blocked --(wake-up record)--> runnable: the record names who woke it
//   blocked --(switch-in)--> running: its wake-up is not told; what it waited
//                            for a CPU is in the blocked time
//   blocked --(end of the trace)--> still blocked
//
// A thread that left unseen (kSwitchOther) was blocked only if a wake-up shows
// it. Every interval goes to exactly one waker, so that these add up to the
// blocked time. In: switches and wake-ups, in time order. Memory: by kinds of
// blocking, at most kMaxRows. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_BLOCKED_TIME_H_
#define COUNTRACE_RMAP_DISPATCH_BLOCKED_TIME_H_

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/thread_state.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

struct Waker {
  WakerKind kind = WakerKind::kNotTold;
  const ThreadState* thread = nullptr;  // kThread
  // Whose innermost call it was in; null: in none, or not known.
  const ThreadState* in = nullptr;
};

// What can be lost meanwhile, to tell intervals that hold a loss.
struct LossState {
  std::uint32_t epoch = 0;
  bool lossy = false;
};

class BlockedTime {
 public:
  // More kinds of blocking than this are folded, for each process into one row
  // of WakerKind::kOther without a place.
  static constexpr std::size_t kMaxRows = 65536;

  explicit BlockedTime(std::size_t max_rows = kMaxRows) : max_rows_(max_rows) {}

  // `thread` leaves its CPU with this state of logformat::SwitchState.
  static void Leave(ThreadState& thread, std::uint64_t time_ns,
                    std::uint16_t state, const LossState& loss);
  // `thread` was on no CPU, but runnable, for so long.
  static void AddWait(const ThreadState& thread, std::uint64_t ns);
  // A wake-up record of `thread`, which is on no CPU.
  void Wake(ThreadState& thread, std::uint64_t time_ns, const Waker& waker,
            const LossState& loss);
  // `thread` gets a CPU.
  void Enter(ThreadState& thread, std::uint64_t time_ns, const LossState& loss);
  // The trace ends.
  void Finish(ThreadState& thread, std::uint64_t end_ns, const LossState& loss);
  // A wake-up record came, of whomever.
  void NoteWakeup() { told_ = true; }

  // Intervals that were folded.
  std::uint64_t folded() const { return folded_; }
  // False: no wake-up was recorded, so that blocked time holds waiting.
  bool told() const { return told_; }

  // Of one thread or process, blocked in one place and woken in one way. A
  // thread stands for its process if that was not known yet.
  struct Key {
    const ProcessState* process;
    const ThreadState* thread;
    PathNode* place;  // null: in no segment
    WakerKind kind;
    const ProcessState* waker_process;
    const ThreadState* waker_thread;
    std::uint32_t hook_id;

    auto Tie() const {
      return std::tie(process, thread, place, kind, waker_process, waker_thread,
                      hook_id);
    }
    bool operator==(const Key& other) const { return Tie() == other.Tie(); }
    template <typename H>
    friend H AbslHashValue(H state, const Key& key) {
      return H::combine(std::move(state), key.Tie());
    }
  };
  struct Sum {
    std::uint64_t times = 0, ns = 0, longest_ns = 0;
    Quality quality = Quality::kExact;
  };
  const absl::flat_hash_map<Key, Sum>& sums() const { return sums_; }

 private:
  struct Interval {
    Key key{};
    std::uint64_t ns = 0;
    bool sure = false;  // no record can have been lost meanwhile
  };
  void Add(Interval interval);
  void End(ThreadState& thread, std::uint64_t time_ns, const Waker& waker,
           const LossState& loss);

  std::size_t max_rows_;
  std::uint64_t folded_ = 0;
  bool told_ = false;
  absl::flat_hash_map<Key, Sum> sums_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_BLOCKED_TIME_H_
