// The waiting time of threads, split by what had their CPU meanwhile.
//
// The CPU of a thread that left while runnable (preemption, yield) is the one
// it left; that of a thread that was woken is the one it then got. Each CPU
// keeps its latest occupants. A wait that ended is split by those between its
// begin and its end; what they do not cover is not known, so the parts add up
// to the wait. On another CPU the occupants are known later: the wait is kept
// until then, and while an interrupt is open, whose end may be missing.
//
// In: intervals of CPUs, waits of threads. Memory: kMaxSpans for each CPU,
// kMaxRows kinds of parts. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_QUEUE_TIME_H_
#define COUNTRACE_RMAP_DISPATCH_QUEUE_TIME_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rmap/result/tables.h"
#include "rmap/state/cpu_state.h"
#include "rmap/state/thread_state.h"

namespace countrace::rmap {

class QueueTime {
 public:
  // A longer wait has a part that is not known.
  static constexpr std::size_t kMaxSpans = 16384;
  // Further kinds are folded into one of PreemptorKind::kOther for each thread.
  static constexpr std::size_t kMaxRows = 65536;

  explicit QueueTime(bool wanted, std::size_t max_spans = kMaxSpans,
                     std::size_t max_rows = kMaxRows)
      : wanted_(wanted), max_spans_(max_spans), max_rows_(max_rows) {}

  bool wanted() const { return wanted_; }

  // `cpu` had this occupant; its state is that at the end of the interval.
  void OnTime(const CpuState& cpu, const AttributedInterval& interval);
  // The occupant of `cpu` since then is not known.
  void TakeBack(const CpuState& cpu, std::uint64_t since_ns);
  // The interrupts of `cpu` since then may have been over: no exit was seen.
  void DoubtInterrupts(const CpuState& cpu, std::uint64_t since_ns);
  // `thread` waited until `end_ns`, since DispatchState::runnable_since_ns, and
  // then got `cpu` (-1: none is known).
  void OnWait(const ThreadState& thread, std::int32_t cpu,
              std::uint64_t end_ns);
  void Finish();
  // The tables' range begins: drops the waits so far.
  void ForgetSums() {
    sums_.clear();
    for (Queue& queue : queues_) queue.pending.clear();
  }

  struct Key {
    const ThreadState* thread;
    PreemptorKind kind;
    const ThreadState* by;  // kThread

    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H state, const Key& key) {
      return H::combine(std::move(state), key.thread, key.kind, key.by);
    }
  };
  struct Sum {
    std::uint64_t times = 0, ns = 0, longest_ns = 0;
    // Part of it that may be of another row.
    std::uint64_t unsure_times = 0, unsure_ns = 0, longest_sure_ns = 0;
  };
  const absl::flat_hash_map<Key, Sum>& sums() const { return sums_; }

 private:
  struct Span {
    std::uint64_t begin_ns, end_ns;
    PreemptorKind kind;
    const ThreadState* thread;
    bool sure;
  };
  struct Wait {
    const ThreadState* thread;
    std::uint64_t begin_ns, end_ns;
    bool sure;
  };
  struct Queue {
    std::deque<Span> spans;     // in time order
    std::vector<Wait> pending;  // their ends may lie after the spans
  };

  Queue& QueueOf(std::size_t cpu);
  void Split(const Wait& wait, const Queue& queue);
  void Add(const Wait& wait, PreemptorKind kind, const ThreadState* by,
           std::uint64_t ns, bool sure);

  bool wanted_;
  std::size_t max_spans_, max_rows_;
  std::vector<Queue> queues_;  // by CPU
  absl::flat_hash_map<Key, Sum> sums_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_QUEUE_TIME_H_
