// What happens in a trace while it is reconstructed, as packets of Perfetto.
//
//   TraceReader --NotedReader--> rmap::Reconstruct --> TraceObserver
//       record ---------OnRecord, AfterRecord--------------^   --> Packets
//
// Spans have no values of hooks and no CPU of a wake-up: these are in the
// record from which they come. Slices of a thread nest: a call on a stack that
// the thread leaves is a slice for each time that it is there. Memory: a few
// numbers for each thread and for each CPU and event. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_PERFETTO_TRACE_OBSERVER_H_
#define COUNTRACE_RMAP_EXPORT_PERFETTO_TRACE_OBSERVER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rmap/export/perfetto/sched_events.h"
#include "rmap/export/perfetto/track_events.h"
#include "rmap/noted_reader.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap::perfetto {

class TraceObserver final : public TimelineObserver, public RecordNotes {
 public:
  // `info` must outlive this object. `report`: of an earlier reading in the
  // same order. Describes the tracks of its processes and threads.
  TraceObserver(Packets& packets, TrackEvents& events,
                const logformat::TraceInfo& info, const Report& report);

  // Around the spans that come from `record`.
  void OnRecord(const logformat::EventRecord& record) override {
    record_ = &record;
  }
  void AfterRecord() override;
  void Finish();

  bool WantsCallCounts() const override { return true; }
  void OnThread(ThreadIndex thread, std::int32_t tid) override;
  void OnDispatch(const DispatchSpan& span) override;
  void OnSegmentBegin(const SegmentBegin& begin) override;
  void OnSegment(const SegmentSpan& span) override;
  void OnInterrupt(const InterruptSpan& span) override;
  void OnHook(const HookHit& hit) override;
  void OnFault(const FaultHit& hit) override;
  void OnCounts(const AttributedCount& counted) override;
  void OnLoss(const LossSpan& loss) override;

 private:
  struct Thread {
    std::int32_t tid = 0;
    bool known = false;      // it has a row in the report
    bool described = false;  // its track is
    std::string comm;
    // The latest end in each open slice, behind that in none.
    std::vector<std::uint64_t> ends_ns = {0};
  };

  void DescribeProcesses(const Report& report);
  void DescribeThreads(const Report& report);
  Thread& ThreadAt(ThreadIndex thread);
  // Describes it if its process is not known.
  std::uint64_t TrackOfThread(ThreadIndex thread);
  // Those of the record, if it is the enter or hit, or the exit, of this hook.
  void AddValues(Message& event, std::uint32_t hook_id, bool exit) const;
  void BeginSlice(ThreadIndex thread, std::uint32_t hook_id,
                  std::uint64_t time_ns, bool inferred);
  void WriteInterrupts(std::uint32_t cpu);

  Packets& packets_;
  TrackEvents& events_;
  SchedEvents sched_;
  const std::uint64_t begin_ns_, end_ns_;
  // Events of CPUs; those of a call's dumps.
  const std::vector<std::string> event_names_;
  std::vector<std::string> dump_names_;
  const logformat::TraceInfo& info_;
  const logformat::EventRecord* record_ = nullptr;
  std::deque<Thread> threads_;  // by ThreadIndex; tasks have their names
  std::unordered_map<std::int32_t, ThreadIndex> tids_;  // who has it now
  std::map<std::uint32_t, std::vector<InterruptSpan>> interrupts_;  // by CPU
  struct Count {
    std::uint64_t sum = 0, last_ns = 0;
  };
  std::map<std::uint64_t, Count> counts_;           // by track
  std::map<std::uint64_t, std::uint64_t> lost_ns_;  // by track: until then
};

}  // namespace countrace::rmap::perfetto

#endif  // COUNTRACE_RMAP_EXPORT_PERFETTO_TRACE_OBSERVER_H_
