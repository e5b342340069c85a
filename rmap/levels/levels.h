// Levels: how long each was up, and what its threads used meanwhile.
//
//   Reconstruction --> Levels --> the observer of the caller
//
// A level (COUNTRACE_LEVEL) belongs to a thread, a process or the machine; its
// amounts are those of that thread, of the threads of that process, of all
// threads that the report counts. It is down until its first record; the last
// record wins; the end of the thread, or of the last one of the process, and an
// exec lower it. Where one of these may be lost, no amount of the level is sure
// (OwnedLevel::doubted), and whether it is up is not known until its next
// record. Of a count between two dumps the part that belongs to the time
// between two changes is not known, but its limits: none and all of it; unless
// each has a record (RecordedInstants).
//
// In: what an observer gets. Out: one OwnedLevel each, of which
// tables/rows/level_rows makes rows. Memory: by levels and their owners, and by
// changes since the last dump of each CPU. Thread: one.
#ifndef COUNTRACE_RMAP_LEVELS_LEVELS_H_
#define COUNTRACE_RMAP_LEVELS_LEVELS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/dispatch/recorded_instants.h"
#include "rmap/levels/level_track.h"
#include "rmap/result/limits.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/state/thread_registry.h"

namespace countrace::rmap {

// A level of one owner. Amounts are those of the tables.
struct OwnedLevel {
  const logformat::HookInfo* hook = nullptr;
  std::uint32_t owner = 0;  // ThreadIndex or ProcessIndex; 0: the machine
  LevelTrack track{};
  bool known = true;           // whether it is up now
  bool doubted = false;        // changes may be lost
  std::uint64_t since_ns = 0;  // `up_ns` is up to here
  // Whether it is up, absent if that is not known; since when, and by whom.
  std::optional<bool> shown_up = false;
  std::uint64_t shown_ns = 0;
  ThreadIndex shown_by = kNoThread;
  std::uint64_t raises = 0;
  std::uint64_t up_ns = 0, on_cpu_ns = 0;
  struct Count {
    std::uint64_t value = 0;  // lo <= value <= hi
    std::uint64_t lo = 0, hi = 0;
    bool split = false;  // by time: value is inferred
  };
  std::vector<Count> counts{};  // of the CPUs' events
};

class Levels final : public TimelineObserver {
 public:
  // Null if the trace has no level. `registry`: need not be constructed yet;
  // `next`: null, or gets all calls.
  static std::unique_ptr<Levels> Of(const logformat::TraceInfo& info,
                                    const ThreadRegistry& registry,
                                    TimelineObserver* next);

  // The tables begin, perhaps after records were overwritten (`lost`).
  void Begin(std::uint64_t time_ns, bool lost);
  // A hook of a program was hit, counted or not; what it raises in a pause is
  // not counted (`paused`).
  void OnRecord(const logformat::EventRecord& record, const ThreadState& thread,
                std::uint64_t time_ns, bool paused);
  void OnExec(const ThreadState& thread, std::uint64_t time_ns);
  // The tables end. `exits`: ends of threads are recorded.
  void Finish(std::uint64_t end_ns, bool exits);

  const std::deque<OwnedLevel>& owned() const { return owned_; }
  // The levels with this name, whatever their provider.
  std::vector<const logformat::HookInfo*> Named(const std::string& name) const;
  // Whether one of these is up for `thread`; absent: it is not known.
  std::optional<bool> IsUp(
      const std::vector<const logformat::HookInfo*>& levels,
      const ThreadState& thread) const;

  void OnTime(const AttributedTime& attributed) override;
  void OnCounts(const AttributedCount& attributed) override;
  void OnDispatch(const DispatchSpan& span) override {
    instants_.OnDispatch(span);
    next_.OnDispatch(span);
  }
  void OnFault(const FaultHit& fault) override {
    instants_.OnFault(fault);
    next_.OnFault(fault);
  }
  void OnCounters(const CounterDump& dump) override;
  void OnLoss(const LossSpan& loss) override;
  // What only passes.
  bool WantsCallCounts() const override { return next_.WantsCallCounts(); }
  void OnThread(ThreadIndex at, std::int32_t tid) override {
    next_.OnThread(at, tid);
  }
  void OnUnseen(const UnseenCount& unseen) override { next_.OnUnseen(unseen); }
  void OnOwnersUnknown(std::uint64_t ns) override { next_.OnOwnersUnknown(ns); }
  void OnInferredSwitch(const InferredSwitch& at) override {
    next_.OnInferredSwitch(at);
  }
  void OnWait(const WaitSpan& span) override { next_.OnWait(span); }
  void OnBlocked(const BlockedSpan& span) override { next_.OnBlocked(span); }
  void OnInterrupt(const InterruptSpan& span) override {
    next_.OnInterrupt(span);
  }
  void OnSegmentBegin(const SegmentBegin& begin) override {
    next_.OnSegmentBegin(begin);
  }
  void OnSegment(const SegmentSpan& span) override { next_.OnSegment(span); }
  void OnHook(const HookHit& hit) override { next_.OnHook(hit); }

 private:
  Levels(const logformat::TraceInfo& info, const ThreadRegistry& registry,
         TimelineObserver* next);
  // Those that `thread` has a part in.
  template <typename Visit>
  void ForEachOf(ThreadIndex thread, const Visit& visit) {
    if (const auto found = of_thread_.find(static_cast<std::uint32_t>(thread));
        found != of_thread_.end()) {
      for (OwnedLevel* level : found->second) visit(*level);
    }
    if (const ProcessState* const process = Thread(thread).process;
        process != nullptr && !of_process_.empty()) {
      const auto found =
          of_process_.find(static_cast<std::uint32_t>(process->index));
      if (found != of_process_.end()) {
        for (OwnedLevel* level : found->second) visit(*level);
      }
    }
    for (OwnedLevel* level : of_machine_) visit(*level);
  }
  const ThreadState& Thread(ThreadIndex thread) const {
    return registry_.threads()[static_cast<std::size_t>(thread)];
  }
  static std::uint32_t OwnerOf(const logformat::HookInfo& hook,
                               const ThreadState& thread);
  bool BeginsDown(const logformat::HookInfo& hook,
                  const ThreadState& thread) const;
  OwnedLevel& Level(const logformat::HookInfo& hook, const ThreadState& thread,
                    std::uint64_t time_ns);
  // Its thread, or each of its process, ended by a record; when they had their
  // last one (not of the machine's).
  bool IsEnded(const OwnedLevel& level) const;
  std::uint64_t SeenOf(const OwnedLevel& level) const;
  // From now on `level` is `up`; the observer gets what it was.
  void Show(OwnedLevel& level, std::uint64_t time_ns, std::optional<bool> up,
            ThreadIndex by = kNoThread, bool end_inferred = false) const;
  // `level` changes, or goes on until `time_ns`, or until its owner ended.
  void Settle(OwnedLevel& level, std::uint64_t time_ns) const;
  void AddCount(const AttributedCount& attributed,
                const std::vector<std::uint64_t>& instants,
                OwnedLevel& level) const;

  const logformat::TraceInfo& info_;
  const ThreadRegistry& registry_;
  TimelineObserver nobody_;
  TimelineObserver& next_;
  std::vector<const logformat::HookInfo*> hooks_;  // by id; null: no level
  std::deque<OwnedLevel> owned_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, OwnedLevel*> by_owner_;
  std::unordered_map<std::uint32_t, std::vector<OwnedLevel*>> of_thread_,
      of_process_;
  std::vector<OwnedLevel*> of_machine_;
  std::set<std::uint32_t> execed_;  // processes
  std::vector<CounterKind> kinds_;
  RecordedInstants instants_{{}};
  // By CPU: what is attributed later lies behind; 0: nothing yet.
  std::vector<std::uint64_t> time_ns_, done_ns_;
  std::uint64_t begin_ns_ = 0;
  bool began_lossy_ = false;
  // Records of hooks, and such that may be of any level.
  bool hooks_lost_ = false, any_lost_ = false;
  std::uint64_t lost_until_ns_ = 0;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LEVELS_LEVELS_H_
