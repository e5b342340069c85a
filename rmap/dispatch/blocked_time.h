// Blocked time of threads, by the segment they blocked in and by what ended it.
//
//   running --(switch-out, neither runnable nor dead)--> blocked
//   blocked --(wake-up record)--> runnable: the record names the waker
//   blocked --(switch-in)--> running: no wake-up record, so that its time
//                            runnable is part of the blocked time
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
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "rmap/result/tables.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/thread_state.h"

namespace countrace::rmap {

struct Waker {
  WakerKind kind = WakerKind::kNotTold;
  const ThreadState* thread = nullptr;  // kThread
  // The thread or interrupts whose innermost open call counts as the waker's;
  // null: none, or unknown.
  const ThreadState* in = nullptr;
  bool sure = true;  // no lost record can make it another one
};

class BlockedTime {
 public:
  // Further kinds of blocking are folded into one row for each process, of
  // WakerKind::kOther and without a call path.
  static constexpr std::size_t kMaxRows = 65536;

  // `by_thread`: no two threads share a kind.
  explicit BlockedTime(std::size_t max_rows = kMaxRows, bool by_thread = false,
                       TimelineObserver* observer = nullptr,
                       bool with_stacks = false)
      : max_rows_(max_rows),
        by_thread_(by_thread),
        with_stacks_(with_stacks),
        observer_(observer) {}

  // `thread` leaves its CPU in this logformat::SwitchState.
  void Leave(ThreadState& thread, std::uint64_t time_ns, std::uint16_t state);
  // `thread` was runnable on no CPU for `ns`, of which its state was unknown
  // for the latest part (UnseenState::latest_ns).
  static void AddWait(ThreadState& thread, std::uint64_t ns);
  // A wake-up record of `thread`, which is on no CPU. Requires, as do the next
  // two: UnseenTime has seen the thread at that time.
  void Wake(ThreadState& thread, std::uint64_t time_ns, const Waker& waker);
  // `thread` gets a CPU.
  void Enter(ThreadState& thread, std::uint64_t time_ns);
  // `thread` runs, and the record that shows how it got there was lost.
  void EndUnseen(ThreadState& thread, std::uint64_t time_ns);
  // A record behind the range of the tables shows whether a wake-up ends the
  // time since `thread` left unseen.
  static void Settle(ThreadState& thread, bool woken) {
    if (thread.blocked.sleep != BlockedState::Sleep::kPerhaps) return;
    thread.blocked.sleep =
        woken ? BlockedState::Sleep::kBlocked : BlockedState::Sleep::kNone;
  }
  // Records are missing that may show that: its blocked time up to `time_ns`
  // has limits.
  static void EndPerhaps(ThreadState& thread, std::uint64_t time_ns);
  // The stack at which `thread` left its CPU for its latest time off it (not
  // 0), or for that which goes on.
  void OnStack(const ThreadState& thread, std::uint32_t stack);
  // The trace ends.
  void Finish(ThreadState& thread, std::uint64_t end_ns);
  // Records of a CPU were lost: from now on, a wake-up may be among them.
  void NoteLoss() { lost_ = true; }
  // A wake-up record came, for any thread.
  void NoteWakeup() { saw_wakeup_ = true; }
  void SetPaused(bool paused) { paused_ = paused; }

  // The tables' range begins: drops the sums so far.
  void ForgetSums() {
    sums_.clear();
    stacks_.clear();
    latest_.clear();
    folded_ = 0;
  }

  // Intervals that were folded.
  std::uint64_t folded() const { return folded_; }
  // False: no wake-up was recorded, so that blocked time contains waiting.
  bool saw_wakeup() const { return saw_wakeup_; }

  // One thread or process, blocked in one call path and woken in one way. The
  // thread stands for its process while that is unknown, and is null otherwise
  // unless kinds are `by_thread`.
  struct Key {
    const ProcessState* process;
    const ThreadState* thread;
    PathNode* place;  // call-path node; null: in no segment
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
    // Part of it: intervals that may belong to another row.
    std::uint64_t unsure_times = 0, unsure_ns = 0;
  };
  const absl::flat_hash_map<Key, Sum>& sums() const { return sums_; }
  // Parts of these whose stacks are known.
  struct StackSum {
    std::uint64_t times = 0, ns = 0;
  };
  const absl::flat_hash_map<std::pair<Key, std::uint32_t>, StackSum>& stacks()
      const {
    return stacks_;
  }

 private:
  struct Interval {
    Key key{};
    std::uint64_t ns = 0;
    std::uint64_t unknown_ns = 0;  // part of it in which records may be missing
    std::uint64_t placed_ns = 0;   // part of it that was in the segment surely
    bool sure = false;
  };
  // Its key becomes that of the row that has it.
  void Add(Interval& interval);
  void End(ThreadState& thread, std::uint64_t time_ns, const Waker& waker);

  std::size_t max_rows_;
  bool by_thread_, with_stacks_;
  TimelineObserver* observer_;
  std::uint64_t folded_ = 0;
  bool saw_wakeup_ = false, lost_ = false, paused_ = false;
  absl::flat_hash_map<Key, Sum> sums_;
  absl::flat_hash_map<std::pair<Key, std::uint32_t>, StackSum> stacks_;
  // What is known of a thread's latest time off CPU: that it was blocked, or
  // its stack. With stacks only.
  struct Latest {
    bool ended = false;  // `key` and `ns` are set
    Key key{};
    std::uint64_t ns = 0;
    std::uint32_t stack = 0;  // it came before the end
  };
  absl::flat_hash_map<const ThreadState*, Latest> latest_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_BLOCKED_TIME_H_
