#include "tests/rmap/power2/counter_log.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "logformat/description/metadata_reader.h"
#include "logformat/description/metadata_writer.h"

namespace countrace::test_support::power2 {
namespace {

// Events of the log with private modes that always count: cycles, memory
// errors.
constexpr std::size_t kAlwaysOn = 2;
constexpr std::size_t kFirstFxu = kElements;
constexpr std::uint32_t kSetDump = (1u << (kAlwaysOn + kElements + 1)) - 1;

}  // namespace

CounterLog::CounterLog(const std::string& directory, const LogOptions& options,
                       std::uint64_t begin_ns)
    : options_(options), trace_(directory), cpus_(options.cpus) {
  trace_.session().recorder_pid = 0;
  trace_.session().cpus = options_.cpus;
  trace_.session().begin_ns = begin_ns;
  std::vector<std::string> names = EventNames();
  trace_.SetCpuEvents(
      names, std::vector<std::uint32_t>(options_.private_modes ? kModes : 0,
                                        static_cast<std::uint32_t>(kElements)));
  if (options_.thread_dumps) {
    names.resize(kThreadEvents);
    trace_.SetThreadEvents(names);
    segment_ = trace_.AddSegment("app", "phase");
  }
  hooks_ = {trace_.AddKernelHook("kernel-segment", "syscall", "svc"),
            trace_.AddKernelHook("interrupt", "irq", "clock"),
            trace_.AddKernelHook("interrupt", "power2", "dispatcher")};
  for (std::uint32_t cpu = 0; cpu < options_.cpus; ++cpu) SetMode(cpu, 0);
}

std::vector<std::string> CounterLog::EventNames() const {
  static constexpr const char* kNames[] = {"fpu", "fxu", "icu", "scu"};
  std::vector<std::string> names;
  for (const Signal& signal : options_.signals) {
    names.push_back(std::string("power2-") +
                    kNames[static_cast<std::size_t>(signal.unit)] + "-" +
                    std::to_string(signal.group) + "-" +
                    std::to_string(signal.element));
  }
  names.insert(options_.private_modes ? names.begin() : names.end(),
               {"power2-cycles", "power2-memory-errors"});
  return names;
}

std::optional<std::size_t> CounterLog::EventOf(std::size_t i,
                                               std::uint32_t mode) const {
  if (!options_.private_modes) return i;
  if (i == kCycles) return 0;
  if (i == kMemoryErrors) return 1;
  if (i < kFirstFxu || i >= kFirstFxu + kElements) return std::nullopt;
  return kAlwaysOn + kElements * mode + i - kFirstFxu;
}

void CounterLog::SetMode(std::uint32_t cpu, std::uint32_t mode) {
  cpus_[cpu].mode = mode;
  if (options_.private_modes) Stream(cpu).SetEventSet(mode, kSetDump);
}

std::vector<std::uint64_t> CounterLog::Read(std::uint32_t number,
                                            const Monitor& monitor) {
  Cpu& cpu = cpus_[number];
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::uint32_t value = monitor.counter(i);
    const std::uint32_t delta = value - std::exchange(cpu.base[i], value);
    const auto event = EventOf(i, cpu.mode);
    if (!event) continue;
    cpu.logged[*event] += delta;
    if (cpu.logged[*event] < delta) ++wraps_;
  }
  if (!options_.private_modes) {
    return {cpu.logged.begin(), cpu.logged.end()};
  }
  std::vector<std::uint64_t> values = {cpu.logged[0], cpu.logged[1]};
  const auto* const set = &cpu.logged[kAlwaysOn + kElements * cpu.mode];
  values.insert(values.end(), set, set + kElements);
  values.push_back(cpu.mode_ns[cpu.mode]);
  return values;
}

void CounterLog::Hook(std::uint64_t time_ns, std::uint32_t cpu,
                      const Monitor& monitor, KernelHook hook, bool exit,
                      std::uint32_t running_pid) {
  const auto event_id = static_cast<std::uint16_t>(
      hooks_[static_cast<std::size_t>(hook)] * 2 +
      (exit ? logformat::kEventExitBit : 0) + logformat::kEventDumpBit);
  const std::uint64_t pid = running_pid;
  std::optional<std::int64_t> ret;
  if (exit) ret = 0;
  Stream(cpu).KernelHook(time_ns, event_id, pid | pid << 24, Read(cpu, monitor),
                         ret);
}

void CounterLog::Segment(std::uint64_t time_ns, std::int32_t pid,
                         const Monitor& monitor, bool exit) {
  Dump dump;
  dump.present = 0xffff;
  for (std::size_t i = 0; i < kThreadEvents; ++i) {
    dump.counters.push_back(monitor.counter(i));
  }
  ThreadStreamBuilder& stream = trace_.Thread(pid, pid);
  if (exit) {
    stream.Exit(segment_, time_ns, dump);
  } else {
    stream.Enter(segment_, time_ns, {}, dump);
  }
}

void CounterLog::Finish() {
  trace_.Finish();
  DescribeCounters();
}

// `.session` has no field for the limits of the counters: they go into the
// finished trace's metadata.
void CounterLog::DescribeCounters() const {
  const std::string file = trace_.directory() + "/metadata";
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)),
                         std::istreambuf_iterator<char>());
  auto description = logformat::ParseMetadata(text, trace_.directory());
  if (!description.ok()) {
    throw std::runtime_error(std::string(description.status().message()));
  }
  const logformat::CounterLimit limit = {32, kHertz};
  logformat::TraceInfo& info = description->info;
  info.cpu_counter_limits.assign(info.cpu_events.size(), limit);
  info.thread_counter_limits.assign(info.thread_events.size(), limit);
  std::ofstream(file) << logformat::MetadataText(*description);
}

}  // namespace countrace::test_support::power2
