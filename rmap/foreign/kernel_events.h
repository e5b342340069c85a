// Events of LTTng's kernel tracer to records of CPU streams: dispatches,
// processes, system calls, interrupts, faults.
//
// A CPU's books begin with its first packet and end with its last one; who ran
// before its first switch is known from that switch, so records wait for it
// (at most kMaxPending). Clocks are differences of time, switches and faults
// are counted here, as the recorder's BPF programs do; other counters come from
// `perf_cpu_*` contexts of sched_switch.
//
// In: events in time order. Out: records to TraceOutput. Thread: one.
#ifndef COUNTRACE_RMAP_FOREIGN_KERNEL_EVENTS_H_
#define COUNTRACE_RMAP_FOREIGN_KERNEL_EVENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rmap/foreign/event_plan.h"
#include "rmap/foreign/source_stream.h"
#include "rmap/foreign/trace_output.h"

namespace countrace::rmap::foreign {

class KernelEvents {
 public:
  static constexpr std::size_t kMaxPending = 1 << 17;

  explicit KernelEvents(TraceOutput& output) : output_(output) {}

  // What an event class of the kernel is, by its name; fields included.
  static void Classify(const bt_event_class& event_class, EventPlan& plan);
  // Before the first event: all event classes of kernel streams.
  void SetClasses(const std::vector<const bt_event_class*>& classes);
  // Contexts that are counters; field i is value first_counter() + i of dumps.
  const std::vector<std::string>& counter_fields() const {
    return perf_fields_;
  }
  std::uint32_t first_counter() const { return own_counters_; }

  void OnEvent(const SourceEvent& source, const EventPlan& plan);
  void OnPacketBegin(const SourceStream& stream, std::uint64_t time_ns);
  void OnPacketEnd(const SourceStream& stream, std::uint64_t time_ns);
  void OnLoss(const SourceStream& stream, std::uint64_t records,
              std::uint64_t packets, std::uint64_t begin_ns,
              std::uint64_t end_ns);
  // The process of a thread, known from elsewhere.
  void Know(std::int32_t tid, std::int32_t pid) { pids_[tid] = pid; }
  // Ends the CPUs' books.
  void Finish();
  bool any() const { return !cpus_.empty(); }

 private:
  // A record that waits until it is known who ran.
  struct Pending {
    std::uint16_t event_id;
    std::uint64_t time_ns;
    std::string body;
    bool needs_tid;          // its first word's low 48 bits are tid and pid
    bool is_begin;           // running_tid of a counters record
    bool is_wakeup = false;  // the waker is missing
  };
  struct Cpu {
    std::int32_t number = -1;
    OutputStream* stream = nullptr;
    std::int32_t current = -1;  // tid; -1: not known yet
    bool begun = false, flushed = false;
    std::uint64_t begin_ns = 0, last_ns = 0, end_ns = 0, counted_ns = 0;
    std::uint64_t switches = 0, faults = 0;
    std::vector<std::uint64_t> perf;
    std::vector<Pending> pending;
    std::vector<std::uint32_t> interrupts;  // hooks of those open
  };

  Cpu& CpuOf(std::int32_t number, std::uint64_t time_ns);
  void Emit(Cpu& cpu, std::uint16_t event_id, std::uint64_t time_ns,
            std::string_view body, bool needs_tid = false,
            bool is_begin = false);
  void Flush(Cpu& cpu, std::int32_t running);
  void Begin(Cpu& cpu, std::uint64_t time_ns);
  // Values of a dump of `cpu` at this instant.
  void AppendDump(const Cpu& cpu, std::uint64_t time_ns, std::string& out);
  // Takes the perf counters of an event; false if it has not all of them.
  bool TakeCounters(Cpu& cpu, const SourceEvent& source, const EventPlan& plan);
  std::uint64_t Ids(const Cpu& cpu, std::uint64_t number) const;
  std::int32_t PidOf(std::int32_t tid) const;
  void NoteComm(Cpu& cpu, std::uint64_t time_ns, std::int32_t tid,
                const bt_field* comm);
  void EmitComm(Cpu& cpu, logformat::CpuEvent event, std::uint64_t time_ns,
                std::int32_t tid, std::string_view comm);

  void OnSwitch(Cpu& cpu, const SourceEvent& source, const EventPlan& plan);
  void OnTask(Cpu& cpu, const SourceEvent& source, const EventPlan& plan);
  void OnHook(Cpu& cpu, const SourceEvent& source, const EventPlan& plan,
              std::uint32_t hook, bool exit, std::uint64_t number);
  void OnInterrupt(Cpu& cpu, const SourceEvent& source, const EventPlan& plan);
  std::uint32_t HookOf(logformat::HookOrigin origin, logformat::HookKind kind,
                       const std::string& provider, const std::string& name);

  TraceOutput& output_;
  std::map<std::int32_t, Cpu> cpus_;
  absl::flat_hash_map<std::int32_t, std::int32_t> pids_;  // by tid
  absl::flat_hash_map<std::int32_t, std::string> comms_;
  absl::flat_hash_map<std::string, std::uint32_t> hooks_;
  std::vector<std::string> perf_fields_;
  // Counted here: their places in dumps are the first ones.
  std::uint32_t own_counters_ = 0;
  bool own_clock_ = false, own_switches_ = false, own_faults_ = false;
  bool has_switch_ = false, has_waking_ = false, has_faults_ = false;
  bool has_wakeup_ = false, has_process_state_ = false, has_fork_ = false;
  std::uint64_t unhooked_ = 0, whose_unknown_ = 0, too_many_pending_ = 0;
  std::string body_;
};

}  // namespace countrace::rmap::foreign

#endif  // COUNTRACE_RMAP_FOREIGN_KERNEL_EVENTS_H_
