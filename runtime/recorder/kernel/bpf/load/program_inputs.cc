#include "runtime/recorder/kernel/bpf/load/program_inputs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <type_traits>

#include "absl/strings/str_format.h"
#include "kernel_programs.skel.h"
#include "runtime/recorder/kernel/bpf/load/bpf_counters.h"
#include "runtime/recorder/kernel/bpf/load/bpf_error.h"
#include "runtime/recorder/kernel/bpf/load/preempt_count.h"
#include "runtime/recorder/kernel/bpf/programs/off_cpu_stack.h"

namespace countrace::runtime {
namespace {

using Constants = std::remove_pointer_t<decltype(kernel_programs::rodata)>;

// One entry for each hook with a conditional rule in each thread. Only used
// entries take memory: some 100 bytes each.
constexpr std::uint32_t kRuleEntries = 256 * 1024;

// Threads that have left a CPU; those that live at a time.
constexpr std::uint32_t kOffCpuThreads = 64 * 1024;

// One ring for all CPUs, in proportion to the rings of records. 4 MiB hold some
// 10,000 stacks, 32 MiB some 4,000 copies of 8 KiB; they are read a hundred
// times a second.
std::uint32_t OffCpuRingBytes(std::uint64_t ring_bytes, bool copies) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      copies ? ring_bytes * 4 : ring_bytes / 2, page, 32 << 20));
}

// Memory that is used at most for copies of stacks, those of many threads.
constexpr std::uint64_t kCopiedBytes = 256 << 20;

std::uint32_t CopyRoom(std::uint32_t stack_bytes) {
  return std::bit_ceil(stack_bytes) + COUNTRACE_COPY_PART_BYTES;
}

std::uint32_t SlotsOf(const BpfProgramOptions& options) {
  return static_cast<std::uint32_t>(options.cpus.size());
}

void SetCounterConstants(const BpfProgramOptions& options,
                         Constants& constants) {
  const logformat::EventSets sets = options.choice.sets(/*running_slot=*/true);
  // With sets a dump begins with one more word.
  constants.counter_count =
      static_cast<std::uint32_t>(sets.slots() + (sets.rotates() ? 1 : 0));
  constants.always_count = static_cast<std::uint32_t>(sets.always_on());
  constants.has_sets = sets.rotates() ? 1 : 0;
  static_assert(COUNTRACE_MAX_SETS == logformat::kMaxEventSets &&
                COUNTRACE_MAX_COUNTERS == logformat::kMaxCounters);
  for (std::size_t set = 0; set < sets.sizes.size(); ++set) {
    for (std::size_t i = 0; i < sets.sizes[set]; ++i) {
      constants.set_event[set * COUNTRACE_MAX_COUNTERS + i] =
          static_cast<std::uint16_t>(sets.first_event(set) + i + 1);
    }
  }
  // The trace has no other source for the counts of such events in a segment.
  bool any_read = sets.rotates();
  for (std::size_t i = 0; i < sets.always_on(); ++i) {
    const auto source =
        SourceOf(options.choice.events[i], options.fault_records);
    constants.counter_source[i] = static_cast<std::uint8_t>(source);
    if (source == COUNTRACE_SOURCE_EXEC_RUNTIME) constants.counts_exec = 1;
    any_read |= IsRead(source);
  }
  constants.dump_families = any_read ? (1u << COUNTRACE_HOOK_FAMILIES) - 1
                                     : 1u << COUNTRACE_FAMILY_LISTED;
}

void SetMarkConstants(const BpfProgramOptions& options, Constants& constants) {
  const logformat::Gating& gating = options.gating;
  constants.count_marked = gating.marked ? 1 : 0;
  constants.count_unmarked = gating.unmarked ? 1 : 0;
  constants.follows_marks = options.follow_marks ? 1 : 0;
  const ProcessMarks& marks = options.marks;
  constants.mark_globs_count = static_cast<std::uint32_t>(marks.globs().size());
  constants.mark_users_count = static_cast<std::uint32_t>(marks.uids().size());
  constants.mark_cgroups_count =
      static_cast<std::uint32_t>(marks.cgroups().size());
  static_assert(COUNTRACE_MAX_MARKS == logformat::kMaxMarks);
  std::copy(marks.uids().begin(), marks.uids().end(), constants.mark_users);
  for (std::size_t i = 0; i < marks.cgroups().size(); ++i) {
    constants.mark_cgroups[i] = marks.cgroups()[i].id;
  }
}

void SetRuleConstants(const KernelHookRules& rules, Constants& constants) {
  constants.has_rules = rules.rules.empty() ? 0 : 1;
  constants.has_conditions = rules.conditional ? 1 : 0;
  constants.asks_values = rules.asks_values ? 1 : 0;
  constants.stores_values = rules.stores_values ? 1 : 0;
  constants.asks_callers = rules.asks_callers ? 1 : 0;
  constants.page_shift = static_cast<std::uint32_t>(
      std::countr_zero(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))));
  constants.rule_tick_ns = rules.tick_ns;
  static_assert(sizeof(constants.hook_rules) >=
                COUNTRACE_HOOK_FAMILIES * COUNTRACE_RULED_NUMBERS);
  std::copy(rules.answers.begin(), rules.answers.end(), constants.hook_rules);
}

void SetOffCpuConstants(const OffCpuRequest& off_cpu, Constants& constants) {
  constants.off_cpu_least_ns = off_cpu.least_ns;
  constants.waker_stacks = off_cpu.wakers ? 1 : 0;
  constants.waker_stack_bytes = sizeof(countrace_off_cpu_stack);
  if (off_cpu.stack_bytes == 0) return;
  constants.copy_bytes = off_cpu.stack_bytes;
  constants.copy_mask = std::bit_ceil(off_cpu.stack_bytes) - 1;
  constants.waker_stack_bytes += CopyRoom(off_cpu.stack_bytes);
}

// Returns: 0 or an errno.
int SetMapSizes(const BpfProgramOptions& options, std::uint64_t ring_bytes,
                const kernel_programs& skeleton) {
  int error = 0;
  const auto entries = [&error](bpf_map* map, std::size_t count) {
    if (error != 0) return;
    error = bpf_map__set_max_entries(map, static_cast<std::uint32_t>(count));
  };
  const auto value_bytes = [&error](bpf_map* map, std::uint64_t bytes) {
    if (error != 0) return;
    error = bpf_map__set_value_size(map, static_cast<std::uint32_t>(bytes));
  };
  const auto& maps = skeleton.maps;
  const std::uint32_t slots = SlotsOf(options);
  entries(maps.rings, slots);
  value_bytes(maps.rings, RingStride(ring_bytes));
  entries(maps.ring_controls, slots);
  if (!options.hooks.arguments.empty()) entries(maps.known_files, slots);
  entries(maps.perf_events,
          std::max<std::size_t>(options.choice.events.size(), 1) * slots);
  const KernelHookRules& rules = options.hook_rules;
  if (rules.conditional) entries(maps.rule_entries, kRuleEntries);
  if (!rules.sources.empty()) {
    entries(maps.argument_sources, rules.sources.size());
  }
  const OffCpuRequest& off_cpu = options.off_cpu;
  const bool copies = off_cpu.stack_bytes != 0;
  if (copies) {
    const std::uint32_t room = CopyRoom(off_cpu.stack_bytes);
    value_bytes(maps.stack_copies, room);
    value_bytes(maps.empty_copy, room);
    entries(maps.stack_copies, kCopiedBytes / room);
  }
  if (off_cpu.any()) {
    entries(maps.off_cpu_stacks, kOffCpuThreads);
    entries(maps.off_cpu_ring, OffCpuRingBytes(ring_bytes, copies));
    entries(maps.off_cpu_sums, slots);
  }
  return -error;
}

}  // namespace

int SetInputs(const BpfProgramOptions& options, std::uint64_t ring_bytes,
              kernel_programs& skeleton) {
  Constants& constants = *skeleton.rodata;
  constants.ring_mask = static_cast<std::uint32_t>(ring_bytes - 1);
  const std::uint32_t slots = SlotsOf(options);
  constants.slot_count = slots;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    constants.cpu_slot[options.cpus[slot]] =
        static_cast<std::uint16_t>(slot + 1);
  }
  constants.possible_cpus =
      static_cast<std::uint32_t>(libbpf_num_possible_cpus());
  for (const std::uint32_t cpu : options.cpus) {
    if (options.cpus.back() < 64) constants.recorded_cpus |= 1ull << cpu;
  }
  constants.execve_number = SYS_execve;
  constants.stores_arguments = options.hooks.arguments.empty() ? 0 : 1;
  for (std::size_t i = 0; i < options.hooks.arguments.size(); ++i) {
    constants.call_layouts[i] =
        std::bit_cast<std::uint64_t>(options.hooks.arguments[i].layout);
  }
  constants.records_wakeups = options.wakeups ? 1 : 0;
  if (options.wakeups) constants.preempt_count_at = PreemptCountFromRunQueue();
  for (const DynamicHook& hook : options.hooks.dynamic) {
    if (!hook.block_fields) continue;
    std::copy(hook.block_fields->begin(), hook.block_fields->end(),
              constants.block_fields);
  }
  SetCounterConstants(options, constants);
  SetMarkConstants(options, constants);
  SetRuleConstants(options.hook_rules, constants);
  SetOffCpuConstants(options.off_cpu, constants);
  return SetMapSizes(options, ring_bytes, skeleton);
}

absl::Status StoreRules(const KernelHookRules& rules,
                        const kernel_programs& skeleton) {
  const int map = bpf_map__fd(skeleton.maps.dump_rules);
  for (std::uint32_t i = 0; i < rules.rules.size(); ++i) {
    if (bpf_map_update_elem(map, &i, &rules.rules[i], BPF_ANY) != 0) {
      return BpfError(errno, absl::StrFormat("Cannot pass dump rule \"%s\" to "
                                             "BPF",
                                             rules.rules[i].text));
    }
  }
  const int sources = bpf_map__fd(skeleton.maps.argument_sources);
  for (std::uint32_t i = 0; i < rules.sources.size(); ++i) {
    if (bpf_map_update_elem(sources, &i, &rules.sources[i], BPF_ANY) != 0) {
      return BpfError(errno,
                      "Cannot pass the locations of hook arguments to BPF");
    }
  }
  return absl::OkStatus();
}

absl::Status StoreMarks(const ProcessMarks& marks,
                        const kernel_programs& skeleton) {
  const int map = bpf_map__fd(skeleton.maps.mark_globs);
  for (std::uint32_t i = 0; i < marks.globs().size(); ++i) {
    if (bpf_map_update_elem(map, &i, &marks.globs()[i], BPF_ANY) != 0) {
      return BpfError(errno, "Cannot pass the marked names to BPF");
    }
  }
  return absl::OkStatus();
}

}  // namespace countrace::runtime
