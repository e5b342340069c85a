// The slowest calls of some segments: where the time of each went, for `report
// --slowest`.
//
// A thread makes no call while it is on no CPU, so every wait and blocked
// interval lies in the calls that are open then. In: the spans of a
// reconstruction. Out: one SlowCall each. Memory: by the number asked for, by
// open calls, and by their wakers. Thread: one.
#ifndef COUNTRACE_RMAP_SLOWEST_CALLS_H_
#define COUNTRACE_RMAP_SLOWEST_CALLS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rmap/noted_reader.h"
#include "rmap/pipeline.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/where/record_condition.h"

namespace countrace::rmap {

// What ended blocked time.
struct WokenBy {
  WakerKind kind;
  ThreadIndex thread;     // kThread; else kNoThread
  std::uint32_t hook_id;  // the waker's innermost open call; 0: none
  auto operator<=>(const WokenBy&) const = default;
};

struct SlowCall {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint64_t begin_ns, end_ns;
  bool end_inferred;                       // its exit is not recorded
  std::optional<std::uint64_t> on_cpu_ns;  // absent: no kernel records
  bool on_cpu_exact;
  std::uint64_t wait_ns, blocked_ns;
  std::map<WokenBy, std::uint64_t> woken_by;  // parts of blocked_ns

  std::uint64_t wall_ns() const { return end_ns - begin_ns; }
};

class SlowestCalls final : public TimelineObserver, public RecordNotes {
 public:
  // The `most` slowest calls of `hooks` that begin in `range` and whose values
  // satisfy `condition`: null: all; else it must outlive this object, which has
  // to note the records (NotedReader).
  SlowestCalls(std::size_t most, std::unordered_set<std::uint32_t> hooks,
               TableRange range = {},
               const where::RecordCondition* condition = nullptr)
      : most_(most),
        hooks_(std::move(hooks)),
        range_(range),
        condition_(condition) {}

  void OnRecord(const logformat::EventRecord& record) override {
    record_ = &record;
  }
  void AfterRecord() override { record_ = nullptr; }

  bool WantsCallCounts() const override { return true; }  // for on_cpu_exact
  void OnWait(const WaitSpan& wait) override;
  void OnBlocked(const BlockedSpan& blocked) override;
  void OnSegmentBegin(const SegmentBegin& begin) override;
  void OnSegment(const SegmentSpan& span) override;

  // Slowest first; the earlier one of two.
  std::vector<SlowCall> Take();

 private:
  struct Open {
    std::uint32_t depth;
    std::uint64_t begin_ns;
    std::uint64_t wait_ns = 0, blocked_ns = 0;
    std::map<WokenBy, std::uint64_t> woken_by = {};
    where::RecordCondition::Values values = {};
  };
  // Adds those of the record that begins or ends a call of `hook_id`.
  void ReadValues(std::uint32_t hook_id, bool exit,
                  where::RecordCondition::Values& values) const;

  std::size_t most_;
  std::unordered_set<std::uint32_t> hooks_;
  TableRange range_;
  const where::RecordCondition* condition_;
  const logformat::EventRecord* record_ = nullptr;
  std::unordered_map<std::uint32_t, std::vector<Open>> open_;  // by thread
  std::vector<SlowCall> calls_;  // a heap, the fastest of them first
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SLOWEST_CALLS_H_
