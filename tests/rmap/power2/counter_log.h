// The log of the kernel extension: reads the monitors of all processors into
// counts since the trace began, modulo 2^32, and writes them with the records
// of a trace, by the writer of the recorder.
#ifndef COUNTRACE_TESTS_RMAP_POWER2_COUNTER_LOG_H_
#define COUNTRACE_TESTS_RMAP_POWER2_COUNTER_LOG_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/rmap/power2/monitor.h"
#include "tests/support/trace_builder.h"

namespace countrace::test_support::power2 {

// Modes that processes bring with them: event sets.
inline constexpr std::uint32_t kModes = 4;
// Counters that a process's own dumps hold: as many as the format has room for.
inline constexpr std::size_t kThreadEvents = logformat::kMaxCounters;

struct LogOptions {
  std::uint32_t cpus = 1;
  // The log has the cycle and memory counters, and those of the fixed-point
  // unit in each of kModes modes. Else it has all 22, of one mode.
  bool private_modes = false;
  bool thread_dumps = false;  // processes dump their own at hooks
  // What the selectable counters count: by counter, or of each mode the
  // fixed-point unit's.
  std::vector<Signal> signals;
};

class CounterLog {
 public:
  CounterLog(const std::string& directory, const LogOptions& options,
             std::uint64_t begin_ns);

  // Event of the log that counter `i` counts in `mode`; nullopt: none.
  std::optional<std::size_t> EventOf(std::size_t i, std::uint32_t mode) const;

  // What the log's counter of an event showed before the trace began.
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
  // Dumps that follow are of `mode`.
  void SetMode(std::uint32_t cpu, std::uint32_t mode);

  // What the monitor counted since it was read, or written, goes to the log's
  // counters. Returns a dump of these.
  std::vector<std::uint64_t> Read(std::uint32_t cpu, const Monitor& monitor);

  enum class KernelHook : std::uint8_t { kSvc, kClock, kDispatcher };
  // With a dump.
  void Hook(std::uint64_t time_ns, std::uint32_t cpu, const Monitor& monitor,
            KernelHook hook, bool exit, std::uint32_t running_pid);
  // A process enters or leaves its segment and dumps what it reads itself.
  void Segment(std::uint64_t time_ns, std::int32_t pid, const Monitor& monitor,
               bool exit);
  CpuStreamBuilder& Stream(std::uint32_t cpu) {
    return trace_.Cpu(static_cast<std::int32_t>(cpu));
  }

  // Finishes the trace.
  void Finish();
  std::uint32_t wraps() const { return wraps_; }  // of any counter in the log

 private:
  struct Cpu {
    std::uint32_t mode = 0;
    std::array<std::uint32_t, kCounters> base{};
    std::array<std::uint32_t, kCounters> logged{};
    std::array<std::uint64_t, kModes> mode_ns{};
  };
  std::vector<std::string> EventNames() const;
  void DescribeCounters() const;

  LogOptions options_;
  TraceBuilder trace_;
  std::vector<Cpu> cpus_;
  std::array<std::uint32_t, 3> hooks_{};  // by KernelHook
  std::uint32_t segment_ = 0;
  std::uint32_t wraps_ = 0;
};

}  // namespace countrace::test_support::power2

#endif  // COUNTRACE_TESTS_RMAP_POWER2_COUNTER_LOG_H_
