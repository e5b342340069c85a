// Dispatches and wake-ups as ftrace has them, CPU by CPU, so that Perfetto's
// own tables of scheduling and of thread states come from them.
//
//   DispatchSpan --pairs of neighbours--> sched_switch
//   wake-up record ---------------------> sched_waking
//
// Where a trace says nothing of a CPU, or does not count what it did, a thread
// of the export has it: its tid is beyond those of Linux. Memory: two
// buffers for each CPU. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_PERFETTO_SCHED_EVENTS_H_
#define COUNTRACE_RMAP_EXPORT_PERFETTO_SCHED_EVENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "rmap/export/perfetto/packets.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap::perfetto {

struct Task {
  std::int32_t tid = 0;
  std::string_view comm = "swapper";
};

class SchedEvents {
 public:
  // `states_since_4_14`: the trace's kernel has today's task states.
  SchedEvents(Packets& packets, bool states_since_4_14)
      : packets_(packets), preempted_(states_since_4_14 ? 0x100 : 0) {}

  // `task`: whose it is, if it is a thread's.
  void Dispatch(const DispatchSpan& span, const Task& task);
  // `cpu`: where it happened. `waker`: 0: an interrupt.
  void Waking(std::uint32_t cpu, std::uint64_t time_ns, std::int32_t waker,
              const Task& wakee, std::uint32_t target_cpu);
  // Records of `cpu` are missing.
  void Lose(std::uint32_t cpu) { cpus_[cpu].lossy = true; }
  void Finish();

 private:
  struct Cpu {
    bool any = false;  // it had a dispatch, which is that of
    Task task;         // until
    std::uint64_t end_ns = 0;
    std::int64_t prev_state = 0;
    bool lossy = false;
    std::string switches, wakings;  // events of a bundle
  };

  std::int64_t RawState(const DispatchSpan& span) const;
  void Switch(std::uint32_t number, Cpu& cpu, std::uint64_t time_ns,
              const Task& next);
  void Flush(std::uint32_t number, Cpu& cpu, std::uint32_t sequence,
             std::string& events) const;

  Packets& packets_;
  const std::int64_t preempted_;
  std::map<std::uint32_t, Cpu> cpus_;
};

}  // namespace countrace::rmap::perfetto

#endif  // COUNTRACE_RMAP_EXPORT_PERFETTO_SCHED_EVENTS_H_
