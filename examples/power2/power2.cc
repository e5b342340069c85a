// Writes the trace of a simulated POWER2 machine, for countrace's tools, and
// prints what really happened in it as JSON.
//
//   power2 [options] TRACE > TRUTH.json
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "machine.h"

namespace {

using power2::MachineOptions;
using power2::Mmcr;
using power2::Sums;
using power2::TrueProcess;
using power2::Truth;

constexpr char kUsage[] =
    "usage: power2 [options] TRACE\n"
    "\n"
    "  --seed N        another machine (default 1)\n"
    "  --cpus N        processors, 1 to 4 (default 2)\n"
    "  --steps N       length of the simulation (default 8000)\n"
    "  --mmcr WORD     the register: DIS DP DU DMS DMR SGA, 10 reserved bits, "
    "the\n"
    "                  groups of FPU FXU ICU SCU (default 0x00003e57)\n"
    "  --sweep UNITS   groups 0 to 15 of these units in turn: fpu,fxu,icu,scu\n"
    "  --sweep codes   instruction codes of the match register in turn\n"
    "  --long          minutes: up to 30 s between two dumps\n"
    "  --dump-late     once, 150 s between two dumps\n"
    "\n"
    "Writes the directory TRACE, prints the truth.\n";

// Thrown for a wrong command line.
struct UsageError {
  std::string what;
};

std::uint32_t Number(std::string_view text, std::uint32_t least,
                     std::uint32_t most) {
  const bool hex = text.starts_with("0x");
  const std::string_view digits = hex ? text.substr(2) : text;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      value < least || value > most) {
    throw UsageError{std::string(text) + " is not a number from " +
                     std::to_string(least) + " to " + std::to_string(most)};
  }
  return value;
}

void SetMmcr(std::string_view text, MachineOptions& options) {
  const std::uint32_t word = Number(text, 0, UINT32_MAX);
  const std::optional<Mmcr> mmcr = Mmcr::Decode(word);
  if (!mmcr) {
    throw UsageError{
        "MMCR " + std::string(text) +
        ": bits 6 to 15 (0x03ff0000) are reserved: they must be 0"};
  }
  options.monitor_bits = word >> 27;
  options.sga = mmcr->sga;
  options.groups = mmcr->group;
}

void SetSweep(std::string_view text, MachineOptions& options) {
  if (text == "codes") {
    options.sweep_codes = true;
    return;
  }
  static constexpr std::string_view kUnitNames[] = {"fpu", "fxu", "icu", "scu"};
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    std::size_t unit = 0;
    while (unit < std::size(kUnitNames) && kUnitNames[unit] != name) ++unit;
    if (unit == std::size(kUnitNames)) {
      throw UsageError{"--sweep " + std::string(name) +
                       ": it is fpu, fxu, icu, scu, or codes"};
    }
    options.sweep_units.set(unit);
    text.remove_prefix(std::min(text.size(), name.size() + 1));
  }
  // 4 units have 320 events, a trace has at most 256.
  if (options.sweep_units.all()) {
    throw UsageError{
        "--sweep: at most 3 units in one trace, which has room for 256 events "
        "of the 322: write two traces"};
  }
}

std::string Parse(int argc, char** argv, MachineOptions& options) {
  std::string trace;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    options.command += std::string(" ") + argv[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 == argc) {
        throw UsageError{std::string(word) + " needs a value"};
      }
      options.command += std::string(" ") + argv[i + 1];
      return argv[++i];
    };
    if (word == "--seed") {
      options.seed = Number(value(), 0, UINT32_MAX);
    } else if (word == "--cpus") {
      options.cpus = Number(value(), 1, 4);
    } else if (word == "--steps") {
      options.steps = Number(value(), 1, 1'000'000);
    } else if (word == "--mmcr") {
      SetMmcr(value(), options);
    } else if (word == "--sweep") {
      SetSweep(value(), options);
    } else if (word == "--long") {
      options.long_steps = true;
      // A process may not come to a hook of its own for more than 65 s.
      options.private_counters = false;
    } else if (word == "--dump-late") {
      options.dump_late = true;
    } else if (word.starts_with("-") || !trace.empty()) {
      throw UsageError{std::string(word) +
                       ": not an option, and not the trace"};
    } else {
      trace = word;
    }
  }
  if (trace.empty()) throw UsageError{"TRACE is missing"};
  if (options.sga && (options.sweep_units.any() || options.sweep_codes)) {
    throw UsageError{"with SGA no selector has an effect: nothing to sweep"};
  }
  return trace;
}

// {"EVENT": COUNT, ...}, of the first events of the trace.
void PrintSums(const char* name, const Truth& truth, const Sums& sums,
               const char* end) {
  std::printf("\"%s\": {", name);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::printf("%s\"%s\": %llu", i == 0 ? "" : ", ", truth.events[i].c_str(),
                static_cast<unsigned long long>(sums[i]));
  }
  std::printf("}%s", end);
}

void PrintNumber(const char* name, std::uint64_t value) {
  std::printf("\"%s\": %llu, ", name, static_cast<unsigned long long>(value));
}

void PrintTruth(const Truth& truth) {
  std::printf("{\"counter_bits\": 32, ");
  PrintNumber("hertz", power2::kHertz);
  PrintNumber("wraps", truth.wraps);
  PrintNumber("duration_ns", truth.duration_ns);
  PrintNumber("idle_ns", truth.idle_ns);
  PrintNumber("interrupts_ns", truth.clock_ns + truth.dispatcher_ns);
  PrintNumber("spe_changes", truth.spe_changes);
  PrintNumber("imr_writes", truth.imr_writes);
  std::printf("\n");
  PrintSums("total", truth, truth.total, ",\n");
  PrintSums("happened", truth, truth.happened, ",\n");
  PrintSums("idle", truth, truth.idle, ",\n");
  PrintSums("clock", truth, truth.clock, ",\n");
  PrintSums("dispatcher", truth, truth.dispatcher, ",\n\"processes\": [");
  const char* separator = "\n";
  for (const TrueProcess& process : truth.processes) {
    std::printf("%s {\"comm\": \"%s\", \"marked\": %s, \"exited\": %s, ",
                separator, process.name.c_str(),
                process.marked ? "true" : "false",
                process.exited ? "true" : "false");
    separator = ",\n";
    PrintNumber("pid", static_cast<std::uint64_t>(process.pid));
    PrintNumber("on_cpu_ns", process.on_cpu_ns);
    PrintNumber("dispatches", process.dispatches);
    PrintNumber("svc_calls", process.svc_calls);
    PrintNumber("phase_calls", process.segment_calls);
    PrintSums("counts", truth, process.counts, ",\n  ");
    PrintSums("happened", truth, process.happened, ",\n  ");
    PrintSums("in_svc", truth, process.in_svc, ",\n  ");
    PrintSums("in_phase", truth, process.in_phase, "}");
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  MachineOptions options;
  options.seed = 1;
  options.cpus = 2;
  options.steps = 8000;
  options.most_processes = 8;
  options.private_counters = true;
  SetMmcr("0x00003e57", options);
  try {
    const std::string trace = Parse(argc, argv, options);
    PrintTruth(power2::Simulate(options, trace));
  } catch (const UsageError& error) {
    std::fprintf(stderr, "power2: %s\n\n%s", error.what.c_str(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "power2: %s\n", error.what());
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
