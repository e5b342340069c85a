// Converts what happens on CPUs to records of CPU streams: dispatches,
// processes, wake-ups, faults, kernel hooks, dumps. It does not depend on the
// tracer.
//
// A CPU's books begin with its first record and end with its last one. The
// first switch names the thread that ran before it, so records wait for it (at
// most kMaxPending). Clocks (differences of time), switches and faults are
// counted here, as the recorder's BPF programs do; values of other counters
// come from the caller (SetCounts).
//
// In: facts, in the order of time on each CPU. Out: records to TraceOutput.
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_KERNEL_CPU_RECORDS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_KERNEL_CPU_RECORDS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/import/trace_output.h"

namespace countrace::importer {

// A CPU while its stream is written.
struct CpuBooks {
  // A record that waits until the running thread is known.
  struct Pending {
    std::uint16_t event_id;
    std::uint64_t time_ns;
    std::string body;
    bool needs_tid;          // its first word's low 48 bits are tid and pid
    bool is_begin;           // running_tid of a counters record
    bool is_wakeup = false;  // the waker is missing
  };
  std::int32_t number = -1;
  OutputStream* stream = nullptr;
  std::int32_t current = -1;  // tid; -1: not known yet
  bool begun = false, flushed = false;
  std::uint64_t begin_ns = 0, last_ns = 0, end_ns = 0, counted_ns = 0;
  std::uint64_t switches = 0, faults = 0;
  std::vector<std::uint64_t> counts;
  std::vector<Pending> pending;
};

// A hook's record: the enter or the exit of a call.
struct HookCall {
  std::uint32_t hook = 0;  // 0: there were no more ids
  bool exit = false;
  bool dump = false;         // with the CPU's counts
  std::uint64_t number = 0;  // of the interrupt
  std::int64_t returned = 0;
  std::string_view values = {};  // as its hook declares them
};

class CpuRecords {
 public:
  static constexpr std::size_t kMaxPending = 1 << 17;

  // `location`: for the hooks that HookOf() makes.
  CpuRecords(TraceOutput& output, std::string location)
      : output_(output), location_(std::move(location)) {}

  // Call before the first fact if there are switches, and so books. `events`:
  // the counters that SetCounts() will set. Clock, switches and (if
  // `count_faults`) faults are counted here unless `events` has them.
  void HaveSwitches(const std::vector<std::string>& events, bool count_faults);
  // Index of the first counter that SetCounts() sets.
  std::uint32_t first_counter() const { return own_counters_; }
  std::size_t set_counters() const { return set_counters_; }

  CpuBooks& CpuOf(std::int32_t number, std::uint64_t time_ns);
  // The CPU was recorded until this time.
  void Until(std::int32_t number, std::uint64_t time_ns);
  // Sets the process of a thread, if it is known from elsewhere.
  void SetProcess(std::int32_t tid, std::int32_t pid) { pids_[tid] = pid; }
  std::int32_t PidOf(std::int32_t tid) const;

  // Sets the cumulative counts, all of them.
  void SetCounts(CpuBooks& cpu, std::uint64_t time_ns,
                 std::span<const std::uint64_t> counts);
  // Sets the thread that runs now, if the source names it.
  void SetRunning(CpuBooks& cpu, std::int32_t tid);
  // `state`: logformat::SwitchState.
  void Switch(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t prev,
              std::int32_t next, std::uint16_t state);
  // The same without counter values.
  void SwitchIn(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t prev,
                std::int32_t next);
  void Wake(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t wakee,
            std::int64_t target_cpu);
  void Fork(CpuBooks& cpu, std::uint64_t time_ns,
            const logformat::TaskRecord& fork, std::string_view comm);
  // A thread that calls exec takes over the first tid of its process.
  // `old_tid`: its tid before, -1 if not known.
  void Exec(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
            std::int32_t old_tid, std::string_view comm);
  void Exit(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid);
  void State(CpuBooks& cpu, std::uint64_t time_ns, logformat::StateRecord state,
             std::string_view comm);
  // Records the name only if it is a new one.
  void Name(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
            std::string_view comm);
  void Fault(CpuBooks& cpu, std::uint64_t time_ns, std::uint64_t address);
  void Call(CpuBooks& cpu, std::uint64_t time_ns, const HookCall& call);
  // A record of a point whose fields, also its thread, are in `body`.
  void AppendPoint(CpuBooks& cpu, std::uint32_t hook, std::uint64_t time_ns,
                   std::span<const std::byte> body);
  // 0: there are no more ids.
  std::uint32_t HookOf(logformat::HookOrigin origin, logformat::HookKind kind,
                       const std::string& provider, const std::string& name);
  // Before an enter of the hook. Returns: the types of the values that its
  // enters have, those of the first one.
  const std::vector<logformat::PayloadType>& DeclareValues(
      std::uint32_t hook, const std::vector<logformat::PayloadType>& types,
      const std::vector<std::string>& names);
  // `records` 0: the number is not known, or `packets` packets were lost.
  void Lose(std::int32_t number, std::uint64_t records, std::uint64_t packets,
            std::uint64_t begin_ns, std::uint64_t end_ns);
  // Ends the CPUs' books.
  void Finish();
  bool any() const { return !cpus_.empty(); }
  const std::map<std::int32_t, CpuBooks>& cpus() const { return cpus_; }

 private:
  void Emit(CpuBooks& cpu, std::uint16_t event_id, std::uint64_t time_ns,
            std::string_view body, bool needs_tid = false,
            bool is_begin = false);
  void Flush(CpuBooks& cpu, std::int32_t running);
  void Begin(CpuBooks& cpu, std::uint64_t time_ns);
  // Appends the values of a dump of `cpu` at this instant.
  void AppendDump(const CpuBooks& cpu, std::uint64_t time_ns, std::string& out);
  std::uint64_t Ids(const CpuBooks& cpu, std::uint64_t number) const;
  void EmitComm(CpuBooks& cpu, logformat::CpuEvent event, std::uint64_t time_ns,
                std::int32_t tid, std::string_view comm);
  template <typename Record>
  void EmitRecord(CpuBooks& cpu, logformat::CpuEvent event,
                  std::uint64_t time_ns, const Record& record);

  TraceOutput& output_;
  const std::string location_;
  std::map<std::int32_t, CpuBooks> cpus_;
  absl::flat_hash_map<std::int32_t, std::int32_t> pids_;  // by tid
  absl::flat_hash_map<std::int32_t, std::string> comms_;
  absl::flat_hash_map<std::string, std::uint32_t> hooks_;
  // Types of values by hook.
  std::map<std::uint32_t, std::vector<logformat::PayloadType>> values_;
  // Counted here: these are the first values of a dump.
  std::uint32_t own_counters_ = 0;
  std::size_t set_counters_ = 0;
  bool own_clock_ = false, own_switches_ = false, own_faults_ = false;
  bool has_switches_ = false;
  std::uint64_t unhooked_ = 0, whose_unknown_ = 0, too_many_pending_ = 0;
  std::string body_;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_KERNEL_CPU_RECORDS_H_
