// The log of the kernel extension: reads the monitors of all processors as
// counts since the trace began, modulo 2^32, and writes them with the records
// of a trace.
#ifndef COUNTRACE_EXAMPLES_POWER2_COUNTER_LOG_H_
#define COUNTRACE_EXAMPLES_POWER2_COUNTER_LOG_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monitor.h"
#include "trace_file.h"

namespace power2 {

using CounterNames = std::array<std::string, kCounters>;

struct LogOptions {
  std::uint32_t cpus = 1;
  // What each counter counts, in each mode: an event set of the trace.
  std::vector<CounterNames> modes;
  // The counters that have another event in each mode; the others count the
  // same event in all of them, and come first in the list of events.
  std::bitset<kCounters> swept;
  // Processes dump their own counters at hooks: the first 16 that are not
  // swept, a limit of the format.
  bool thread_dumps = false;
  std::string command;  // that made the trace
};

class CounterLog {
 public:
  CounterLog(const std::string& directory, const LogOptions& options,
             std::uint64_t begin_ns);

  // The log's event for counter `i` in `mode`.
  std::size_t EventOf(std::size_t i, std::uint32_t mode) const;
  // Names of all events.
  const std::vector<std::string>& events() { return trace_.info().cpu_events; }

  // The value of the log's counter before the trace began.
  void Preset(std::uint32_t cpu, std::size_t event, std::uint32_t value) {
    cpus_[cpu].logged[event] = value;
  }
  // The monitor's counter was written.
  void Written(std::uint32_t cpu, std::size_t i, std::uint32_t value) {
    cpus_[cpu].base[i] = value;
  }
  void Elapsed(std::uint32_t cpu, std::uint64_t ns) {
    cpus_[cpu].mode_ns[cpus_[cpu].mode] += ns;
  }
  std::uint32_t mode(std::uint32_t cpu) const { return cpus_[cpu].mode; }
  // The following dumps are in `mode`.
  void SetMode(std::uint32_t cpu, std::uint32_t mode) {
    cpus_[cpu].mode = mode;
  }

  // Records with a dump of the processor's monitor.
  void Dump(std::uint64_t time_ns, std::uint32_t cpu, const Monitor& monitor,
            logformat::CountersReason reason, std::uint32_t running_pid);
  void Dispatch(std::uint64_t time_ns, std::uint32_t cpu,
                const Monitor& monitor, std::uint32_t prev, std::uint32_t next,
                std::uint16_t state);
  enum class KernelHook : std::uint8_t { kSvc, kClock, kDispatcher };
  void Hook(std::uint64_t time_ns, std::uint32_t cpu, const Monitor& monitor,
            KernelHook hook, bool exit, std::uint32_t running_pid);
  // A process enters its segment by the call that enables monitoring, or leaves
  // it by the trap at one of its exits; it dumps the counters it reads.
  void Segment(std::uint64_t time_ns, std::int32_t pid, const Monitor& monitor,
               bool exit);

  // Records without.
  void Process(std::uint64_t time_ns, std::int32_t pid, bool marked,
               std::string_view name);
  void Fork(std::uint64_t time_ns, std::uint32_t cpu, std::int32_t child,
            std::int32_t parent);
  void Exit(std::uint64_t time_ns, std::uint32_t cpu, std::int32_t pid);
  // A process sets or clears the SPE; the kernel writes the IMR for one.
  void Spe(std::uint64_t time_ns, std::int32_t pid, bool up);
  void Imr(std::uint64_t time_ns, std::uint32_t cpu, std::uint32_t code,
           std::uint32_t running_pid);

  void Finish() { trace_.Finish(); }
  std::uint32_t wraps() const { return wraps_; }  // of all counters in the log

 private:
  struct Cpu {
    std::uint32_t mode = 0;
    std::array<std::uint32_t, kCounters> base{};
    std::vector<std::uint32_t> logged;   // by event
    std::vector<std::uint64_t> mode_ns;  // by mode
  };
  void Describe(std::uint64_t begin_ns);
  // Adds the monitor's counts since the last read, or write, to the log's
  // counters, and a dump of these to `body`.
  void Read(std::uint32_t cpu, const Monitor& monitor, Body& body);
  void AppendToCpu(std::uint32_t cpu, logformat::CpuEvent event,
                   std::uint64_t time_ns, const Body& body) {
    trace_.AppendToCpu(cpu, static_cast<std::uint16_t>(event), time_ns, body);
  }

  LogOptions options_;
  TraceFile trace_;
  std::vector<Cpu> cpus_;
  std::array<std::uint32_t, 3> hooks_{};  // by KernelHook
  std::uint32_t segment_ = 0, spe_ = 0, imr_ = 0;
  std::uint32_t wraps_ = 0;
};

}  // namespace power2

#endif  // COUNTRACE_EXAMPLES_POWER2_COUNTER_LOG_H_
