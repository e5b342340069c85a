// Streams of threads that the reader leaves to the reconstruction
// (logformat/read/run_sharing.h): their records wait until the kernel says
// something of their thread, and are delivered in one run then, in its lane.
// What the kernel says of others does not cut the run.
//
//   Hold(A) Hold(B)   A: ...........|          B: ......|
//   Before(dispatch of A)           ^ run          Before(dispatch of B)
//
// In: streams, kernel records before they are processed. Out: runs, to lanes
// or to the caller's sink. Thread: one caller's.
#ifndef COUNTRACE_RMAP_HELD_RUNS_H_
#define COUNTRACE_RMAP_HELD_RUNS_H_

#include <cstdint>
#include <vector>

#include "logformat/read/run_sharing.h"
#include "logformat/read/trace_reader.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/segment_lane.h"
#include "rmap/segment_worker.h"
#include "rmap/state/thread_registry.h"

namespace countrace::rmap {

class HeldRuns {
 public:
  // `own`: takes the runs of threads that are in no lane.
  HeldRuns(ThreadRegistry& registry, DispatchTracker& dispatches,
           logformat::ItemSink& own)
      : registry_(registry), dispatches_(dispatches), own_(own) {}
  HeldRuns(const HeldRuns&) = delete;
  HeldRuns& operator=(const HeldRuns&) = delete;

  // Requires: no other stream of `thread` is held. `worker` outlives it.
  void Hold(std::uint32_t stream, ThreadState& thread,
            logformat::RunSource& source, std::uint64_t from_ns,
            std::uint64_t until_ns, SegmentWorker& worker);
  static bool IsHeld(const ThreadState& thread) { return thread.held_in != 0; }

  // Comes before what a kernel record does.
  void Before(const logformat::EventRecord& record) {
    at_ = {record.time_ns, record.stream};
    if (!active_.empty()) DeliverBefore(record);
  }
  // Comes before something that may concern every thread.
  void BeforeAnything(std::uint64_t time_ns, std::uint32_t stream) {
    at_ = {time_ns, stream};
    DeliverAll();
  }

  // As of RunScheduler.
  bool IsDone(std::uint32_t stream);
  void WaitFor(std::uint32_t stream);
  void ReturnAll();

  // Something was held, and not all of it returned.
  bool any_was_held() const { return any_was_held_; }
  // A run was not what its stream had promised, or of a thread that has ended:
  // only who reads everything in its order can tell.
  bool failed() const { return failed_; }

 private:
  struct Held {
    ThreadState* thread = nullptr;
    logformat::RunSource* source = nullptr;
    std::uint64_t from_ns = 0, until_ns = 0;
    std::size_t place = 0;  // in active_
    bool active = false;
    // Not delivered yet though the kernel said something; limit 0: none.
    SegmentLane::Stretch off_cpu = {};
  };
  // In the order of a merge by time, then by stream.
  struct Position {
    std::uint64_t time_ns = 0;
    std::uint32_t stream = 0;
    std::uint64_t LimitOf(std::uint32_t other) const {
      return time_ns + (other < stream ? 1 : 0);
    }
  };

  void DeliverBefore(const logformat::EventRecord& record);
  void DeliverAll();
  void Deliver(ThreadState* thread);        // may be null, or not held
  void DeliverOffCpu(ThreadState* thread);  // the same, gets a CPU now
  void Deliver(Held& held, std::uint64_t limit_ns);
  void Drop(std::uint32_t stream);

  ThreadRegistry& registry_;
  DispatchTracker& dispatches_;
  logformat::ItemSink& own_;
  SegmentWorker* worker_ = nullptr;
  std::vector<Held> streams_;          // by stream
  std::vector<std::uint32_t> active_;  // those that are held
  Position at_;                        // of the latest kernel record
  bool any_was_held_ = false, failed_ = false;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HELD_RUNS_H_
