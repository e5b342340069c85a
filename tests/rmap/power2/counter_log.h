// The log of the kernel extension: reads the monitors of all processors as
// counts since the trace began, modulo 2^32, and writes them with the records
// of a trace, with the recorder's writer.
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
// Number of counters in a process's own dumps: the limit of the format.
inline constexpr std::size_t kThreadEvents = logformat::kMaxCounters;

struct LogOptions {
  std::uint32_t cpus = 1;
  // The log has the cycle and memory counters, and those of the fixed-point
  // unit in each of kModes modes. Otherwise it has all 22, in one mode.
  bool private_modes = false;
  bool thread_dumps = false;  // processes dump their own counters at hooks
  // The signals of the selectable counters: by counter, or the fixed-point
  // unit's in each mode.
  std::vector<Signal> signals;
};

class CounterLog {
 public:
  CounterLog(const std::string& directory, const LogOptions& options,
             std::uint64_t begin_ns);

  // The log's event for counter `i` in `mode`; nullopt: none.
  std::optional<std::size_t> EventOf(std::size_t i, std::uint32_t mode) const;

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
  void SetMode(std::uint32_t cpu, std::uint32_t mode);

  // Adds the monitor's counts since the last read, or write, to the log's
  // counters. Returns a dump of the log's counters.
  std::vector<std::uint64_t> Read(std::uint32_t cpu, const Monitor& monitor);

  enum class KernelHook : std::uint8_t { kSvc, kClock, kDispatcher };
  // A hook with a dump.
  void Hook(std::uint64_t time_ns, std::uint32_t cpu, const Monitor& monitor,
            KernelHook hook, bool exit, std::uint32_t running_pid);
  // A process enters or leaves its segment and dumps the counters it reads.
  void Segment(std::uint64_t time_ns, std::int32_t pid, const Monitor& monitor,
               bool exit);
  CpuStreamBuilder& Stream(std::uint32_t cpu) {
    return trace_.Cpu(static_cast<std::int32_t>(cpu));
  }

  // Finishes the trace.
  void Finish();
  std::uint32_t wraps() const {
    return wraps_;
  }  // wraps of all counters in the log

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
