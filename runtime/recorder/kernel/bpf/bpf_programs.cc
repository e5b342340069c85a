#include "runtime/recorder/kernel/bpf/bpf_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "kernel_programs.skel.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/kernel/bpf/hook_programs.h"
#include "runtime/recorder/kernel/bpf/off_cpu_stack.h"
#include "runtime/recorder/kernel/perf/countable_events.h"
#include "runtime/recorder/samples/kernel_names.h"

namespace countrace::runtime {
namespace {

// libbpf reports the reason of an error only in its log: our error includes the
// last warning of this thread.
thread_local std::string t_warning;

int KeepWarning(libbpf_print_level level, const char* format, va_list values) {
  if (level != LIBBPF_WARN) return 0;
  char text[256];
  vsnprintf(text, sizeof(text), format, values);
  t_warning = text;
  while (!t_warning.empty() && t_warning.back() == '\n') t_warning.pop_back();
  return 0;
}

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

absl::Status BpfError(int error, const std::string& what) {
  const std::string text =
      t_warning.empty() ? what : what + " (" + t_warning + ")";
  if (error == EINVAL || error == ESRCH || error == EOPNOTSUPP ||
      error == ENOSYS) {
    return absl::UnimplementedError(
        absl::StrFormat("%s: errno=%d", text, error));
  }
  return base::ErrnoStatus(error, text);
}

bool IsPlain(const EventSpec& event) {
  return event.type == PERF_TYPE_SOFTWARE && !event.exclude_user &&
         !event.exclude_kernel;
}

countrace_counter_source SourceOf(const EventSpec& event, bool fault_records) {
  if (event.is_hardware()) return COUNTRACE_SOURCE_PMU;
  if (event.is_exec_runtime()) return COUNTRACE_SOURCE_EXEC_RUNTIME;
  if (!IsPlain(event)) return COUNTRACE_SOURCE_PERF;
  switch (event.config) {
    case PERF_COUNT_SW_CPU_CLOCK:
    case PERF_COUNT_SW_TASK_CLOCK:
      return COUNTRACE_SOURCE_CLOCK;
    case PERF_COUNT_SW_CONTEXT_SWITCHES:
      return COUNTRACE_SOURCE_SWITCHES;
    case PERF_COUNT_SW_PAGE_FAULTS:
      return fault_records ? COUNTRACE_SOURCE_FAULTS : COUNTRACE_SOURCE_PERF;
    default:
      return COUNTRACE_SOURCE_PERF;
  }
}

// Whether the value is read from a perf event.
bool IsRead(countrace_counter_source source) {
  return source == COUNTRACE_SOURCE_PERF || source == COUNTRACE_SOURCE_PMU;
}

template <typename Constants>
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

}  // namespace

absl::StatusOr<std::unique_ptr<BpfPrograms>> BpfPrograms::Load(
    const BpfProgramOptions& options, std::vector<std::string>& messages) {
  t_warning.clear();
  const libbpf_print_fn_t old_print = libbpf_set_print(KeepWarning);
  std::unique_ptr<BpfPrograms> programs(new BpfPrograms);
  absl::Status status = programs->Open(options, messages);
  if (status.ok()) status = programs->MapMemory();
  if (status.ok()) status = programs->FindPidNamespace();
  if (status.ok()) status = programs->StoreRules(options.hook_rules);
  if (status.ok()) status = programs->StoreMarks(options.marks);
  if (status.ok()) status = programs->OpenEvents(options);
  if (status.ok()) status = programs->Attach(options, messages);
  libbpf_set_print(old_print);
  if (!status.ok()) return status;
  return programs;
}

absl::Status BpfPrograms::Open(const BpfProgramOptions& options,
                               std::vector<std::string>& messages) {
  slots_ = static_cast<std::uint32_t>(options.cpus.size());
  present_.resize(slots_);
  if (options.cpus.back() >= COUNTRACE_MAX_CPUS) {
    return absl::UnimplementedError(
        absl::StrFormat("BPF rings are for CPUs below %d, and there is CPU %d",
                        COUNTRACE_MAX_CPUS, options.cpus.back()));
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  ring_bytes_ = std::bit_ceil(
      std::clamp<std::uint64_t>(options.ring_bytes, page, 256ull << 20));
  for (;;) {
    std::vector<std::string> found;
    const int error = OpenAndLoad(options, found);
    if (error == 0) {
      for (std::string& message : found) messages.push_back(std::move(message));
      return absl::OkStatus();
    }
    // Before Linux 6.5 an element of an array is at most 4 MiB.
    if ((error != E2BIG && error != ENOMEM) || ring_bytes_ <= page) {
      constexpr char kKernelTypes[] = "/sys/kernel/btf/vmlinux";
      if (access(kKernelTypes, F_OK) != 0) {
        return absl::UnimplementedError(absl::StrFormat(
            "This kernel does not describe its types to BPF: %s is missing "
            "(CONFIG_DEBUG_INFO_BTF)",
            kKernelTypes));
      }
      return BpfError(error, "Cannot load BPF programs");
    }
    ring_bytes_ /= 2;
  }
}

int BpfPrograms::OpenAndLoad(const BpfProgramOptions& options,
                             std::vector<std::string>& messages) {
  kernel_programs__destroy(skeleton_);
  skeleton_ = kernel_programs__open();
  if (skeleton_ == nullptr) return errno;
  ring_stride_ = ring_bytes_ + COUNTRACE_RING_SLACK;
  auto& constants = *skeleton_->rodata;
  constants.ring_mask = static_cast<std::uint32_t>(ring_bytes_ - 1);
  constants.dump_families = 1u << COUNTRACE_FAMILY_LISTED;
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
    // The trace has no other source for their counts in a segment.
    constants.dump_families = (1u << COUNTRACE_HOOK_FAMILIES) - 1;
  }
  constants.slot_count = slots_;
  SetMarkConstants(options, constants);
  constants.execve_number = SYS_execve;
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    constants.cpu_slot[options.cpus[slot]] =
        static_cast<std::uint16_t>(slot + 1);
  }
  for (std::size_t i = 0; i < sets.always_on(); ++i) {
    const auto source =
        SourceOf(options.choice.events[i], options.fault_records);
    constants.counter_source[i] = static_cast<std::uint8_t>(source);
    if (source == COUNTRACE_SOURCE_EXEC_RUNTIME) constants.counts_exec = 1;
    // The trace has no other source for its count in a segment.
    if (IsRead(source)) {
      constants.dump_families = (1u << COUNTRACE_HOOK_FAMILIES) - 1;
    }
  }
  const KernelHookRules& rules = options.hook_rules;
  for (const DynamicHook& hook : options.hooks.dynamic) {
    if (!hook.block_fields) continue;
    std::copy(hook.block_fields->begin(), hook.block_fields->end(),
              constants.block_fields);
  }
  constants.has_rules = rules.rules.empty() ? 0 : 1;
  constants.has_conditions = rules.conditional ? 1 : 0;
  constants.asks_values = rules.asks_values ? 1 : 0;
  constants.asks_callers = rules.asks_callers ? 1 : 0;
  constants.page_shift = static_cast<std::uint32_t>(
      std::countr_zero(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))));
  constants.rule_tick_ns = rules.tick_ns;
  static_assert(sizeof(constants.hook_rules) >=
                COUNTRACE_HOOK_FAMILIES * COUNTRACE_RULED_NUMBERS);
  std::copy(rules.answers.begin(), rules.answers.end(), constants.hook_rules);
  const auto perf_slots = static_cast<std::uint32_t>(std::max<std::size_t>(
                              options.choice.events.size(), 1)) *
                          slots_;
  const auto& maps = skeleton_->maps;
  int error = bpf_map__set_max_entries(maps.rings, slots_);
  if (error == 0) {
    error = bpf_map__set_value_size(maps.rings,
                                    static_cast<std::uint32_t>(ring_stride_));
  }
  if (error == 0) error = bpf_map__set_max_entries(maps.ring_controls, slots_);
  if (error == 0)
    error = bpf_map__set_max_entries(maps.perf_events, perf_slots);
  if (error == 0 && rules.conditional) {
    error = bpf_map__set_max_entries(maps.rule_entries, kRuleEntries);
  }
  if (error == 0 && !rules.sources.empty()) {
    error = bpf_map__set_max_entries(
        maps.argument_sources,
        static_cast<std::uint32_t>(rules.sources.size()));
  }
  constants.off_cpu_least_ns = options.off_cpu.least_ns;
  constants.waker_stacks = options.off_cpu.wakers ? 1 : 0;
  constants.waker_stack_bytes = sizeof(countrace_off_cpu_stack);
  if (const std::uint32_t bytes = options.off_cpu.stack_bytes; bytes != 0) {
    const std::uint32_t room = CopyRoom(bytes);
    constants.copy_bytes = bytes;
    constants.copy_mask = std::bit_ceil(bytes) - 1;
    constants.waker_stack_bytes += room;
    for (bpf_map* const map : {maps.stack_copies, maps.empty_copy}) {
      if (error == 0) error = bpf_map__set_value_size(map, room);
    }
    if (error == 0) {
      error = bpf_map__set_max_entries(
          maps.stack_copies, static_cast<std::uint32_t>(kCopiedBytes / room));
    }
  }
  constants.records_wakeups = options.wakeups ? 1 : 0;
  if (options.off_cpu.any()) {
    for (const auto& [map, entries] :
         {std::pair{maps.off_cpu_stacks, kOffCpuThreads},
          std::pair{
              maps.off_cpu_ring,
              OffCpuRingBytes(ring_bytes_, options.off_cpu.stack_bytes != 0)},
          std::pair{maps.off_cpu_sums, slots_}}) {
      if (error == 0) error = bpf_map__set_max_entries(map, entries);
    }
  }
  if (error == 0) {
    error = bpf_program__set_autoload(
        skeleton_->progs.on_waking, options.wakeups || options.off_cpu.wakers);
  }
  if (error == 0) {
    error = bpf_program__set_autoload(skeleton_->progs.on_wakeup_new,
                                      options.wakeups);
  }
  if (error == 0) {
    error = bpf_program__set_autoload(skeleton_->progs.name_code,
                                      options.names_code);
  }
  if (error != 0) return -error;
  error = SelectHookPrograms(options.hooks, *skeleton_, messages);
  if (error != 0) return error;
  error = kernel_programs__load(skeleton_);
  // Where libbpf finds no memory, it loads programs whose variables no one can
  // reach.
  if (error == 0 && skeleton_->bss == nullptr) return ENOMEM;
  return -error;
}

absl::Status BpfPrograms::MapMemory() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto map = [page](const bpf_map* of, std::size_t bytes,
                          std::size_t& mapped) {
    mapped = (bytes + page - 1) / page * page;
    return mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED,
                bpf_map__fd(of), 0);
  };
  void* rings = map(skeleton_->maps.rings, ring_stride_ * slots_, rings_bytes_);
  if (rings == MAP_FAILED)
    return base::ErrnoStatus(errno, "Cannot map BPF rings");
  rings_ = static_cast<std::byte*>(rings);
  void* controls =
      map(skeleton_->maps.ring_controls,
          sizeof(countrace_ring_control) * slots_, controls_bytes_);
  if (controls == MAP_FAILED) {
    return base::ErrnoStatus(errno, "Cannot map BPF ring controls");
  }
  controls_ = static_cast<countrace_ring_control*>(controls);
  // What is in it says nothing.
  const auto skip = [](void*, void*, std::size_t) { return 0; };
  wake_ring_ = ring_buffer__new(bpf_map__fd(skeleton_->maps.wake_ring), skip,
                                nullptr, nullptr);
  if (wake_ring_ == nullptr) {
    return base::ErrnoStatus(errno, "Cannot map the BPF ring that wakes");
  }
  return absl::OkStatus();
}

absl::Status BpfPrograms::FindPidNamespace() {
  LIBBPF_OPTS(bpf_test_run_opts, run);
  const int error = bpf_prog_test_run_opts(
      bpf_program__fd(skeleton_->progs.find_pid_namespace), &run);
  if (error == 0) return absl::OkStatus();
  return BpfError(-error, "Cannot find the pid namespace of this process");
}

absl::Status BpfPrograms::StoreRules(const KernelHookRules& rules) {
  const int map = bpf_map__fd(skeleton_->maps.dump_rules);
  for (std::uint32_t i = 0; i < rules.rules.size(); ++i) {
    if (bpf_map_update_elem(map, &i, &rules.rules[i], BPF_ANY) != 0) {
      return BpfError(errno, absl::StrFormat("Cannot pass dump rule \"%s\" to "
                                             "BPF",
                                             rules.rules[i].text));
    }
  }
  const int sources = bpf_map__fd(skeleton_->maps.argument_sources);
  for (std::uint32_t i = 0; i < rules.sources.size(); ++i) {
    if (bpf_map_update_elem(sources, &i, &rules.sources[i], BPF_ANY) != 0) {
      return BpfError(errno,
                      "Cannot pass the locations of hook arguments to BPF");
    }
  }
  return absl::OkStatus();
}

absl::Status BpfPrograms::StoreMarks(const ProcessMarks& marks) {
  const int map = bpf_map__fd(skeleton_->maps.mark_globs);
  for (std::uint32_t i = 0; i < marks.globs().size(); ++i) {
    if (bpf_map_update_elem(map, &i, &marks.globs()[i], BPF_ANY) != 0) {
      return BpfError(errno, "Cannot pass the marked names to BPF");
    }
  }
  return absl::OkStatus();
}

absl::Status BpfPrograms::OpenEvent(const EventSpec& event, std::size_t index,
                                    std::uint32_t slot, std::uint32_t cpu,
                                    const EventRole& role, int* opened) {
  perf_event_attr attr = ToPerfAttr(event);
  attr.size = sizeof(attr);
  // Pinned: an event that is multiplexed would miss counts silently.
  attr.pinned = role.pinned ? 1 : 0;
  attr.disabled = role.disabled ? 1 : 0;
  attr.read_format =
      PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  base::ScopedFd fd(
      OpenPerfEvent(attr, -1, static_cast<int>(cpu), role.leader));
  if (!fd.is_open()) {  // absent on this CPU
    missing_.push_back({cpu, event.name, errno});
    return absl::OkStatus();
  }
  const auto key = static_cast<std::uint32_t>(index) * slots_ + slot;
  const int value = fd.get();
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.perf_events), &key,
                          &value, BPF_ANY) != 0) {
    return BpfError(errno, "Cannot pass " + event.name + " to BPF");
  }
  *opened = fd.get();
  perf_events_.push_back(std::move(fd));
  return absl::OkStatus();
}

absl::Status BpfPrograms::OpenEvents(const BpfProgramOptions& options) {
  const std::vector<EventSpec>& events = options.choice.events;
  const logformat::EventSets sets = options.choice.sets(/*running_slot=*/true);
  cpus_ = options.cpus;
  for (const DynamicHook& hook : options.hooks.dynamic) {
    probes_measured_ |= hook.cost && *hook.cost != logformat::kUnknownProbeCost;
  }
  sets_ = static_cast<std::uint32_t>(sets.sizes.size());
  always_leaders_.assign(slots_, -1);
  set_leaders_.assign(std::size_t{slots_} * sets_, -1);
  set_turns_.resize(std::size_t{slots_} * sets_);
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    const std::uint32_t cpu = options.cpus[slot];
    int& leader = always_leaders_[slot];  // of the PMU's group
    for (std::size_t i = 0; i < sets.always_on(); ++i) {
      if (!IsRead(SourceOf(events[i], options.fault_records))) {
        present_[slot] |= 1u << i;
        continue;
      }
      const bool hardware = events[i].is_hardware();
      int fd = -1;
      const absl::Status status = OpenEvent(
          events[i], i, slot, cpu,
          {.leader = hardware ? leader : -1, .pinned = hardware && leader < 0},
          &fd);
      if (!status.ok()) return status;
      if (fd < 0) continue;
      if (hardware && leader < 0) leader = fd;
      present_[slot] |= 1u << i;
    }
    // Each set is a pinned group; the first one is on.
    for (std::uint32_t set = 0; set < sets_; ++set) {
      int& set_leader = set_leaders_[slot * sets_ + set];
      for (std::size_t i = 0; i < sets.sizes[set]; ++i) {
        const std::size_t event = sets.first_event(set) + i;
        const bool first = set_leader < 0;
        int fd = -1;
        const absl::Status status = OpenEvent(events[event], event, slot, cpu,
                                              {.leader = set_leader,
                                               .pinned = first,
                                               .disabled = first && set != 0},
                                              &fd);
        if (!status.ok()) return status;
        if (first) set_leader = fd;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status BpfPrograms::CountSet(std::size_t slot, std::uint32_t from,
                                   std::uint32_t to) {
  const int old_leader = set_leaders_[slot * sets_ + from];
  const int new_leader = set_leaders_[slot * sets_ + to];
  if (old_leader >= 0) ioctl(old_leader, PERF_EVENT_IOC_DISABLE, 0);
  if (new_leader >= 0 && ioctl(new_leader, PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return base::ErrnoStatus(
        errno,
        absl::StrFormat("Cannot enable event set %d: cpu=%d", to, cpus_[slot]));
  }
  return absl::OkStatus();
}

absl::Status BpfPrograms::BeginSet(std::size_t slot, std::uint32_t set) {
  if (set == 0) return absl::OkStatus();  // it is on
  std::atomic_ref(control(slot).set).store(set, std::memory_order_relaxed);
  return CountSet(slot, 0, set);
}

absl::Status BpfPrograms::ChangeSet(std::size_t slot, std::uint32_t from,
                                    std::uint32_t to) {
  const std::uint32_t cpu = cpus_[slot];
  SetTurnsTaken& taken = set_turns_[slot * sets_ + from];
  const int old_leader = set_leaders_[slot * sets_ + from];
  ++taken.turns;
  // A pinned event without a counter: read() returns end of file.
  std::uint64_t values[3] = {};
  if (old_leader < 0 || read(old_leader, values, sizeof(values)) == 0 ||
      values[2] == 0) {
    ++taken.refused;
  }
  absl::Status status =
      DumpCounters(cpu, logformat::CountersReason::kSetEnd, to);
  status.Update(CountSet(slot, from, to));
  status.Update(DumpCounters(cpu, logformat::CountersReason::kSetBegin, to));
  return status;
}

void BpfPrograms::RetryCounters(std::size_t slot) {
  const int leader = always_leaders_[slot];
  std::uint64_t values[3] = {};
  if (leader < 0 || read(leader, values, sizeof(values)) != 0) return;
  // A pinned group that got no counters stays off until it is enabled again.
  ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
}

absl::Status BpfPrograms::Attach(const BpfProgramOptions& options,
                                 std::vector<std::string>& messages) {
  const int error = kernel_programs__attach(skeleton_);
  if (error != 0) return BpfError(-error, "Cannot attach BPF programs");
  const absl::Status hooks =
      AttachHookPrograms(options.hooks, options.hook_rules, options.cpus,
                         *skeleton_, links_, joint_links_, messages);
  if (!hooks.ok()) return hooks;
  if (!options.fault_records) return absl::OkStatus();
  const FaultMode mode = ModeOfFaults(options.choice.events);
  for (const std::uint32_t cpu : options.cpus) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    attr.sample_period = 1;
    attr.sample_type = PERF_SAMPLE_ADDR;
    attr.exclude_user = mode.exclude_user;
    attr.exclude_kernel = mode.exclude_kernel;
    base::ScopedFd fd(OpenPerfEvent(attr, -1, static_cast<int>(cpu), -1));
    if (!fd.is_open()) {
      return base::ErrnoStatus(
          errno, absl::StrFormat("Cannot open page-faults: cpu=%d", cpu));
    }
    bpf_link* const link =
        bpf_program__attach_perf_event(skeleton_->progs.on_fault, fd.get());
    if (link == nullptr) {
      return BpfError(errno, "Cannot attach BPF to page-faults");
    }
    links_.push_back(link);
    // The link owns the descriptor from now on.
    fd.Release();
  }
  return absl::OkStatus();
}

void BpfPrograms::Detach() {
  for (bpf_link* const link : links_) bpf_link__destroy(link);
  links_.clear();
  joint_links_.clear();
  if (skeleton_ != nullptr) kernel_programs__detach(skeleton_);
}

BpfPrograms::~BpfPrograms() {
  Detach();
  if (controls_ != nullptr) munmap(controls_, controls_bytes_);
  ring_buffer__free(wake_ring_);
  if (rings_ != nullptr) munmap(rings_, rings_bytes_);
  kernel_programs__destroy(skeleton_);
}

int BpfPrograms::RunDump(std::uint32_t cpu, countrace_dump_request request) {
  LIBBPF_OPTS(bpf_test_run_opts, run);
  run.ctx_in = &request;
  run.ctx_size_in = sizeof(request);
  run.flags = BPF_F_TEST_RUN_ON_CPU;
  run.cpu = cpu;
  return -bpf_prog_test_run_opts(
      bpf_program__fd(skeleton_->progs.dump_counters), &run);
}

absl::Status BpfPrograms::DumpCounters(std::uint32_t cpu,
                                       logformat::CountersReason reason,
                                       std::uint32_t set) {
  const int error =
      RunDump(cpu, {static_cast<unsigned long long>(reason), set});
  if (error == 0) return absl::OkStatus();
  return base::ErrnoStatus(
      error, absl::StrFormat("Cannot dump the counters of CPU %d", cpu));
}

void BpfPrograms::WakeAtPrograms(bool wake) {
  ring_buffer__consume(wake_ring_);
  std::atomic_ref(skeleton_->bss->wakes_recorder)
      .store(wake ? 1 : 0, std::memory_order_release);
}

int BpfPrograms::wake_descriptor() const {
  return ring_buffer__epoll_fd(wake_ring_);
}

std::optional<LocalSymbol> BpfPrograms::NameKernelCode(
    std::uint64_t address) const {
  LIBBPF_OPTS(bpf_test_run_opts, run);
  run.ctx_in = &address;
  run.ctx_size_in = sizeof(address);
  if (bpf_prog_test_run_opts(bpf_program__fd(skeleton_->progs.name_code),
                             &run) != 0) {
    return std::nullopt;
  }
  const char* const text = skeleton_->bss->code_name;
  return ParseCodeName(
      address, {text, strnlen(text, sizeof(skeleton_->bss->code_name))});
}

BpfPrograms::OffCpuMaps BpfPrograms::off_cpu_maps() const {
  const auto& maps = skeleton_->maps;
  return {.stacks = bpf_map__fd(maps.off_cpu_stacks),
          .ring = bpf_map__fd(maps.off_cpu_ring),
          .sums = bpf_map__fd(maps.off_cpu_sums),
          .copies = bpf_map__fd(maps.stack_copies)};
}

absl::Status BpfPrograms::TakeOffCpu(bool take) {
  std::atomic_ref(skeleton_->bss->off_cpu_on)
      .store(take ? 1 : 0, std::memory_order_release);
  if (take) return absl::OkStatus();
  // Switches run with interrupts off, and this is one: it comes behind them.
  for (const std::uint32_t cpu : cpus_) {
    if (const int error = RunDump(cpu, {COUNTRACE_REASON_WAIT, 0});
        error != 0) {
      return base::ErrnoStatus(
          error,
          absl::StrFormat("Cannot wait for the switches of CPU %d", cpu));
    }
  }
  return absl::OkStatus();
}

absl::Status BpfPrograms::Mark(std::int32_t pid) {
  const auto key = static_cast<std::uint32_t>(pid);
  const std::uint8_t mark = 1;
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.marked_processes), &key,
                          &mark, BPF_ANY) == 0) {
    return absl::OkStatus();
  }
  return base::ErrnoStatus(errno,
                           absl::StrFormat("Cannot mark process %d", pid));
}

bool BpfPrograms::IsMarked(std::int32_t pid) const {
  const auto key = static_cast<std::uint32_t>(pid);
  std::uint8_t mark = 0;
  return bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.marked_processes),
                             &key, &mark) == 0;
}

void BpfPrograms::SetStarting(std::int32_t pid) {
  skeleton_->bss->starting_pid = static_cast<std::uint32_t>(pid);
}

std::uint64_t BpfPrograms::SumOverPrograms(
    std::uint64_t (*value)(const bpf_prog_info& info)) const {
  std::uint64_t sum = 0;
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(skeleton_->obj, program)) !=
         nullptr) {
    bpf_prog_info info{};
    __u32 bytes = sizeof(info);
    const int fd = bpf_program__fd(program);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0) {
      sum += value(info);
    }
  }
  return sum;
}

std::uint64_t BpfPrograms::missed_runs() const {
  return SumOverPrograms([](const bpf_prog_info& info) -> std::uint64_t {
    return info.recursion_misses;
  });
}

std::uint64_t BpfPrograms::run_time_ns() const {
  const std::uint64_t all =
      SumOverPrograms([](const bpf_prog_info& info) -> std::uint64_t {
        return info.run_time_ns;
      });
  bpf_prog_info info{};
  __u32 bytes = sizeof(info);
  const int fd = bpf_program__fd(skeleton_->progs.on_user_probe);
  if (!probes_measured_ || fd < 0 ||
      bpf_obj_get_info_by_fd(fd, &info, &bytes) != 0) {
    return all;
  }
  return all - std::min<std::uint64_t>(all, info.run_time_ns);
}

std::uint64_t BpfPrograms::refused_marks() const {
  return skeleton_->bss->marks_refused;
}

std::uint64_t BpfPrograms::refused_rule_entries() const {
  return skeleton_->bss->rule_entries_refused;
}

std::uint64_t BpfPrograms::unknown_callers() const {
  return skeleton_->bss->callers_unknown;
}

std::byte* BpfPrograms::ring(std::size_t slot) const {
  return rings_ + slot * ring_stride_;
}

countrace_ring_control& BpfPrograms::control(std::size_t slot) const {
  return controls_[slot];
}

}  // namespace countrace::runtime
