// The waiting time of threads, split by what had their CPU meanwhile.
//
// The CPU of a thread that left while runnable (preemption, yield) is the one
// it left; that of a thread that was woken is the one it then got. Each CPU
// keeps its latest occupants. A wait that ended is split by those between its
// begin and its end; what they do not cover is not known, so the parts add up
// to the wait. On another CPU the occupants are known later: the wait is kept
// until then, and while an interrupt is open, whose end may be missing.
//
// Whatever had that CPU is not why the thread waited while it might have run on
// one that is idle, for longer than a move takes: those parts are kIdleAllowed.
//
// In: intervals of CPUs, waits of threads. Memory: kMaxSpans for each CPU,
// kMaxRows kinds of parts. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_QUEUE_TIME_H_
#define COUNTRACE_RMAP_DISPATCH_QUEUE_TIME_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>
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

  QueueTime(const std::deque<CpuState>& cpus, const WantedRows& rows)
      : cpus_(cpus),
        wanted_(rows.preemptors),
        least_idle_ns_(rows.least_idle_ns) {}

  bool wanted() const { return wanted_; }

  // `cpu` had this occupant; its state is that at the end of the interval.
  void OnTime(const CpuState& cpu, const AttributedInterval& interval);
  // The occupant of `cpu` since then is not known.
  void TakeBack(const CpuState& cpu, std::uint64_t since_ns);
  // The interrupts of `cpu` since then may have been over: no exit was seen.
  void DoubtInterrupts(const CpuState& cpu, std::uint64_t since_ns);
  // `thread` waited until `end_ns`, since DispatchState::runnable_since_ns, and
  // then got `cpu` (-1: none is known). `any_cpu`: it might use every one then.
  void OnWait(const ThreadState& thread, std::int32_t cpu, std::uint64_t end_ns,
              bool any_cpu);
  void Finish();
  // The tables' range begins: drops the waits so far.
  void ForgetSums() {
    sums_.clear();
    doubtful_.clear();
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
    // It might have run on any CPU, and is longer than least_idle_ns_.
    bool movable;
  };
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  // A part of a movable wait: a loss that a later record shows may hide that a
  // CPU was idle, or was not.
  struct Doubtful {
    std::uint64_t wait_end_ns;
    Key key;
    std::uint64_t ns;
  };
  struct Queue {
    std::deque<Span> spans;     // in time order
    std::vector<Wait> pending;  // their ends may lie after the spans
  };

  Queue& QueueOf(std::size_t cpu);
  void Split(const Wait& wait, const Queue& queue);
  // When any CPU was idle for longer than least_idle_ns_ of the wait, in order.
  std::vector<Range> IdleDuring(const Wait& wait) const;
  // It is not known who had a CPU in this time.
  void Doubt(std::uint64_t begin_ns, std::uint64_t end_ns);
  void Add(const Wait& wait, PreemptorKind kind, const ThreadState* by,
           std::uint64_t ns, bool sure);

  const std::deque<CpuState>& cpus_;
  bool wanted_;
  std::uint64_t least_idle_ns_;
  std::vector<Queue> queues_;           // by CPU
  std::deque<Doubtful> doubtful_;       // the latest ones
  std::uint64_t forgot_until_ns_ = 0;   // latest wait_end_ns of others
  std::uint64_t unknown_until_ns_ = 0;  // latest end of a Doubt()
  absl::flat_hash_map<Key, Sum> sums_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_QUEUE_TIME_H_
