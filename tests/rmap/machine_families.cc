#include "tests/rmap/machine_families.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/rmap/busy_machine.h"
#include "tests/rmap/hooked_program.h"
#include "tests/rmap/lost_records.h"

namespace countrace::test_support {
namespace {

// Records are lost, and the trace says so: the machines of
// bounds_property_test.
Machine Lossy(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 100 + seed % 500;
  Machine machine{Simulate(options), {}};
  LostRecords lost(seed, *machine.run.trace);
  machine.run.trace->RemoveOf(lost);
  return machine;
}

// The trace does not say so.
Machine Silent(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 100 + seed % 300;
  Machine machine{Simulate(options), {}};
  std::mt19937 random(seed);
  const std::uint32_t one_in = 5 + seed % 60;
  machine.run.trace->Remove([&](std::size_t) { return random() % one_in == 0; },
                            /*declare=*/false);
  return machine;
}

// The middle of some streams was overwritten.
Machine Overwritten(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 100 + seed % 300;
  options.event_sets = seed % 9 == 0;
  Machine machine{Simulate(options), {}};
  if (seed % 2 == 1) {
    std::mt19937 random(seed);
    machine.run.trace->Remove([&](std::size_t) { return random() % 30 == 0; },
                              /*declare=*/true);
  }
  OverwriteSome(seed, *machine.run.trace);
  return machine;
}

// Some losses are said, others are not.
Machine Mixed(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 200 + seed % 400;
  options.system_calls = true;
  Machine machine{Simulate(options), {}};
  std::mt19937 random(seed);
  machine.run.trace->Remove([&](std::size_t) { return random() % 40 == 0; },
                            /*declare=*/false);
  machine.run.trace->Remove([&](std::size_t) { return random() % 25 == 0; },
                            /*declare=*/true);
  return machine;
}

// Event sets; of every second machine records are lost.
Machine Rotating(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 300 + seed % 500;
  options.event_sets = true;
  Machine machine{Simulate(options), {}};
  const auto& threads = machine.run.truth.threads;
  if (seed % 3 == 0) {
    machine.run.trace->mutable_info().recorder_pid =
        threads[seed % threads.size()].pid;
  }
  if (seed % 2 == 0) return machine;
  LostRecords lost(seed / 2, *machine.run.trace);
  machine.run.trace->RemoveOf(lost);
  return machine;
}

// Narrow counters, resets, CPUs that go and come back.
Machine Wrapping(std::uint32_t seed) {
  using Unplug = SimulationOptions::Unplug;
  SimulationOptions options = RandomOptions(seed);
  options.steps = 200 + seed % 400;
  options.cpus = 2 + seed % 2;
  options.counter_width = seed % 2 == 0 ? 16 : seed % 4 == 1 ? 32 : 64;
  options.rates = seed % 3 != 0;
  options.resets = seed % 4 == 3;
  options.unplug = static_cast<Unplug>(seed / 2 % 3);
  options.replug = seed % 5 < 3;
  options.clock_step_ns = seed % 7 == 0 ? 200'000 : 0;
  Machine machine{Simulate(options), {}};
  if (seed % 3 == 0) return machine;
  LostRecords lost(seed, *machine.run.trace);
  machine.run.trace->RemoveOf(lost);
  return machine;
}

// Only some processes are counted, with losses.
Machine Gated(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 200 + seed % 300;
  options.command_scope = false;
  Machine machine{Simulate(options), {}};
  if (seed % 3 != 0) {
    LostRecords lost(seed, *machine.run.trace);
    machine.run.trace->RemoveOf(lost);
  }
  const auto& threads = machine.run.truth.threads;
  machine.options.gating.marks = *logformat::ParseMarks(
      {std::to_string(threads[seed % threads.size()].pid)});
  machine.options.gating.count = seed % 2 == 0
                                     ? logformat::Gating{.unmarked = false}
                                     : logformat::Gating{.marked = false};
  return machine;
}

Machine Hooked(std::uint32_t seed) { return {{HookedProgram(seed), {}}, {}}; }

// All kinds of records; some processes are counted.
Machine Busy(std::uint32_t seed) {
  Machine machine{{BusyMachine(seed), {}}, {}};
  if (seed % 4 < 2) return machine;
  machine.options.gating.marks = *logformat::ParseMarks({"101", "one"});
  machine.options.gating.count = seed % 4 == 2
                                     ? logformat::Gating{.unmarked = false}
                                     : logformat::Gating{.marked = false};
  return machine;
}

// Tables of a part of the trace.
Machine Ranged(std::uint32_t seed) {
  Machine machine;
  switch (seed % 5) {
    case 0:
      machine = Lossy(seed);
      break;
    case 1:
      machine = Silent(seed);
      break;
    case 2:
      machine = Overwritten(seed);
      break;
    case 3:
      machine = Mixed(seed);
      break;
    default:
      machine = Busy(seed);
  }
  std::uint64_t begin_ns = UINT64_MAX, end_ns = 0;
  for (const auto& [stream, times] : machine.run.trace->RecordTimes()) {
    if (times.empty()) continue;
    begin_ns = std::min(begin_ns, times.front());
    end_ns = std::max(end_ns, times.back());
  }
  std::mt19937_64 random(seed);
  const std::uint64_t length_ns = end_ns - begin_ns;
  machine.options.range.from_ns = begin_ns + random() % (length_ns / 2);
  machine.options.range.until_ns = end_ns - random() % (length_ns / 3);
  machine.options.rows.preemptors = true;
  return machine;
}

}  // namespace

const std::vector<MachineFamily>& MachineFamilies() {
  static const auto& families = *new std::vector<MachineFamily>{
      {"lossy", 300, Lossy},       {"silent", 100, Silent},
      {"mixed", 100, Mixed},       {"overwritten", 150, Overwritten},
      {"rotating", 100, Rotating}, {"wrapping", 100, Wrapping},
      {"gated", 60, Gated},        {"hooked", 100, Hooked},
      {"busy", 300, Busy},         {"ranged", 200, Ranged}};
  return families;
}

}  // namespace countrace::test_support
