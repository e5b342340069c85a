// More than 400 lines: one class, the loaded BPF programs and their maps.
#include "runtime/recorder/kernel/bpf/load/bpf_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "kernel_programs.skel.h"
#include "logformat/loss.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/kernel/bpf/load/bpf_error.h"
#include "runtime/recorder/kernel/bpf/load/function_programs.h"
#include "runtime/recorder/kernel/bpf/load/hook_programs.h"
#include "runtime/recorder/kernel/bpf/load/program_inputs.h"
#include "runtime/recorder/kernel/perf/countable_events.h"
#include "runtime/recorder/samples/kernel_names.h"

namespace countrace::runtime {
namespace {

// Leaves out the programs that `options` do not need. Returns: 0 or an errno.
int SelectPrograms(const BpfProgramOptions& options, kernel_programs& skeleton,
                   std::vector<logformat::NotRecorded>& left_out) {
  const auto& programs = skeleton.progs;
  int error = bpf_program__set_autoload(
      programs.on_waking, options.wakeups || options.off_cpu.wakers);
  if (error == 0) {
    error = bpf_program__set_autoload(programs.on_wakeup_new,
                                      options.wakeups || options.off_cpu.any());
  }
  if (error == 0) {
    error = bpf_program__set_autoload(programs.name_code, options.names_code);
  }
  if (error != 0) return -error;
  return SelectHookPrograms(options.hooks, skeleton, left_out);
}

}  // namespace

absl::StatusOr<std::unique_ptr<BpfPrograms>> BpfPrograms::Load(
    const BpfProgramOptions& options,
    std::vector<logformat::NotRecorded>& left_out) {
  std::unique_ptr<BpfPrograms> programs(new BpfPrograms);
  const KeptWarnings kept;
  absl::Status status = programs->Open(options, left_out);
  if (status.ok()) status = programs->MapMemory();
  if (status.ok()) status = programs->FindPidNamespace();
  if (status.ok()) {
    status = StoreRules(options.hook_rules, *programs->skeleton_);
  }
  if (status.ok()) status = StoreMarks(options.marks, *programs->skeleton_);
  if (status.ok()) status = programs->OpenCounters(options);
  if (status.ok()) status = programs->Attach(options, left_out);
  if (!status.ok()) return status;
  return programs;
}

absl::Status BpfPrograms::Open(const BpfProgramOptions& options,
                               std::vector<logformat::NotRecorded>& left_out) {
  cpus_ = options.cpus;
  for (const DynamicHook& hook : options.hooks.dynamic) {
    if (!hook.cost || *hook.cost == logformat::kUnknownProbeCost) continue;
    const bool function = hook.type == DynamicHook::Type::kKernelFunction;
    (function ? functions_measured_ : probes_measured_) = true;
  }
  if (options.cpus.back() >= COUNTRACE_MAX_CPUS) {
    return absl::UnimplementedError(
        absl::StrFormat("BPF rings are for CPUs below %d, and there is CPU %d",
                        COUNTRACE_MAX_CPUS, options.cpus.back()));
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  ring_bytes_ = std::bit_ceil(
      std::clamp<std::uint64_t>(options.ring_bytes, page, 256ull << 20));
  for (;;) {
    std::vector<logformat::NotRecorded> found;
    const int error = OpenAndLoad(options, found);
    if (error == 0) {
      std::move(found.begin(), found.end(), std::back_inserter(left_out));
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
                             std::vector<logformat::NotRecorded>& left_out) {
  kernel_programs__destroy(skeleton_);
  skeleton_ = kernel_programs__open();
  if (skeleton_ == nullptr) return errno;
  int error = SetInputs(options, ring_bytes_, *skeleton_);
  if (error == 0) {
    error = SelectPrograms(options, *skeleton_, left_out);
  }
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
  void* rings = map(skeleton_->maps.rings,
                    RingStride(ring_bytes_) * cpus_.size(), rings_bytes_);
  if (rings == MAP_FAILED)
    return base::ErrnoStatus(errno, "Cannot map BPF rings");
  rings_ = static_cast<std::byte*>(rings);
  void* controls =
      map(skeleton_->maps.ring_controls,
          sizeof(countrace_ring_control) * cpus_.size(), controls_bytes_);
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

absl::Status BpfPrograms::OpenCounters(const BpfProgramOptions& options) {
  auto counters =
      BpfCounters::Open(options, bpf_map__fd(skeleton_->maps.perf_events));
  if (!counters.ok()) return counters.status();
  counters_ = *std::move(counters);
  return absl::OkStatus();
}

absl::Status BpfPrograms::Attach(
    const BpfProgramOptions& options,
    std::vector<logformat::NotRecorded>& left_out) {
  const int error = kernel_programs__attach(skeleton_);
  if (error != 0) return BpfError(-error, "Cannot attach BPF programs");
  absl::Status hooks = AttachCalls(true);
  if (!hooks.ok()) return hooks;
  hooks =
      AttachHookPrograms(options.hooks, options.hook_rules,
                         options.cpus.front(), *skeleton_, links_, joint_links_,
                         function_programs_, functions_not_traced_, left_out);
  if (!hooks.ok() || !options.fault_records) return hooks;
  return AttachFaults(options);
}

absl::Status BpfPrograms::AttachCalls(bool attach) {
  return runtime::AttachCalls(attach, cpus_, *skeleton_, fault_ends_);
}

absl::Status BpfPrograms::AttachFaults(const BpfProgramOptions& options) {
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
      return BpfError(errno,
                      absl::StrFormat("Cannot open page-faults: cpu=%d", cpu));
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

// The kernel waits at a probe and at a tracepoint until no CPU runs its program
// any more. Threads wait together.
void BpfPrograms::Detach() {
  links_.insert(links_.end(), fault_ends_.begin(), fault_ends_.end());
  fault_ends_.clear();
  const std::size_t all = links_.size() + joint_links_.size();
  std::atomic<std::size_t> next = 0;
  auto detach = [&] {
    // Relaxed: only the number must be another one each time.
    for (std::size_t i = 0;
         (i = next.fetch_add(1, std::memory_order_relaxed)) < all;) {
      if (i < links_.size()) {
        bpf_link__destroy(links_[i]);
      } else {
        joint_links_[i - links_.size()].Reset();
      }
    }
  };
  const auto run = [](void* work) -> void* {
    (*static_cast<decltype(detach)*>(work))();
    return nullptr;
  };
  constexpr std::size_t kMostThreads = 16;
  std::vector<pthread_t> threads;
  for (std::size_t i = 1; i < std::min(all, kMostThreads); ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run, &detach) != 0) break;
    threads.push_back(thread);
  }
  detach();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
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

std::vector<std::int32_t> BpfPrograms::MarkedProcesses() const {
  const int map = bpf_map__fd(skeleton_->maps.marked_processes);
  std::vector<std::int32_t> pids;
  std::uint32_t key = 0;
  // One that is removed meanwhile begins the list again: bounded.
  constexpr std::size_t kMostMarked = 65536;
  for (const std::uint32_t* last = nullptr;
       pids.size() < kMostMarked && bpf_map_get_next_key(map, last, &key) == 0;
       last = &key) {
    pids.push_back(static_cast<std::int32_t>(key));
  }
  return pids;
}

void BpfPrograms::SetStarting(std::int32_t pid) {
  skeleton_->bss->starting_pid = static_cast<std::uint32_t>(pid);
}

std::uint64_t BpfPrograms::SumOverPrograms(
    std::uint64_t (*value)(const bpf_prog_info& info),
    const std::set<int>& without) const {
  std::uint64_t sum = 0;
  const auto add = [&](int fd) {
    bpf_prog_info info{};
    __u32 bytes = sizeof(info);
    if (fd >= 0 && !without.contains(fd) &&
        bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0) {
      sum += value(info);
    }
  };
  for (const base::ScopedFd& copy : function_programs_) add(copy.get());
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(skeleton_->obj, program)) !=
         nullptr) {
    add(bpf_program__fd(program));
  }
  return sum;
}

std::uint64_t BpfPrograms::missed_runs() const {
  return SumOverPrograms([](const bpf_prog_info& info) -> std::uint64_t {
    return info.recursion_misses;
  });
}

std::uint64_t BpfPrograms::whole_run_time_ns() const {
  return SumOverPrograms([](const bpf_prog_info& info) -> std::uint64_t {
    return info.run_time_ns;
  });
}

std::uint64_t BpfPrograms::run_time_ns() const {
  // What they take is taken out of the segments, or said there as not known.
  std::set<int> in_segments;
  if (probes_measured_) {
    in_segments.insert(bpf_program__fd(skeleton_->progs.on_user_probe));
  }
  if (functions_measured_) {
    for (const base::ScopedFd& copy : function_programs_) {
      in_segments.insert(copy.get());
    }
    if (functions_not_traced_.empty()) {
      in_segments.insert(bpf_program__fd(skeleton_->progs.on_kernel_probe));
    }
  }
  return SumOverPrograms(
      [](const bpf_prog_info& info) -> std::uint64_t {
        return info.run_time_ns;
      },
      in_segments);
}

void BpfPrograms::Describe(
    std::vector<logformat::NotRecorded>& left_out) const {
  if (const std::uint64_t refused = skeleton_->bss->marks_refused;
      refused > 0) {
    left_out.push_back(logformat::Unavailable(
        absl::StrFormat("Kernel hooks of some processes were not recorded: "
                        "there were more than 65,536 at a time: processes=%d",
                        refused),
        refused));
  }
  if (const std::uint64_t refused = skeleton_->bss->rule_entries_refused;
      refused > 0) {
    left_out.push_back(logformat::Unavailable(
        absl::StrFormat(
            "Dump rules could not be evaluated at some kernel-side hooks, "
            "whose records carry no counters: no room for the state of a hook "
            "in a thread, at most 262,144 at a time: records=%d; rules for "
            "fewer hooks need less",
            refused),
        refused));
  }
  if (const std::uint64_t unknown = skeleton_->bss->callers_unknown;
      unknown > 0) {
    left_out.push_back(logformat::Unavailable(
        absl::StrFormat("Dump rules with `from` did not hold at records whose "
                        "caller could not be looked up because its process was "
                        "changing its memory: records=%d",
                        unknown),
        unknown));
  }
}

std::byte* BpfPrograms::ring(std::size_t slot) const {
  return rings_ + slot * RingStride(ring_bytes_);
}

countrace_ring_control& BpfPrograms::control(std::size_t slot) const {
  return controls_[slot];
}

}  // namespace countrace::runtime
