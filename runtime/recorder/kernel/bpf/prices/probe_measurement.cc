#include "runtime/recorder/kernel/bpf/prices/probe_measurement.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/bpf/load/bpf_programs.h"
#include "runtime/recorder/kernel/bpf/prices/probed_functions.h"
#include "runtime/recorder/kernel/bpf/read/kernel_ring_reader.h"
#include "runtime/recorder/kernel/hooks/argument_sources.h"
#include "runtime/recorder/kernel/hooks/hook_values.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

using logformat::ProbeCost;
using Place = HookAttachment::Place;

constexpr std::size_t kCalls = 300, kWarmUpCalls = 50;
constexpr std::size_t kFewestCalls = 50;  // with all their records
constexpr int kChildMilliseconds = 2000;
constexpr std::uint64_t kRingBytes = 512 << 10;

struct Call {
  std::uint64_t begin_ns, end_ns;
};
// Written by the child, read when it says that it has finished.
using Calls = std::array<Call, kCalls>;

// Calls `functions` when the parent says so, twice: without probes and with
// them.
[[noreturn]] void RunChild(const std::vector<ProbedFunction>& functions,
                           Calls* calls, int from_parent, int to_parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char word = 0;
  while (read(from_parent, &word, 1) == 1) {
    for (const ProbedFunction function : functions) {
      Calls& of = *calls++;
      for (std::size_t i = 0; i < kWarmUpCalls; ++i) function();
      for (Call& call : of) {
        call.begin_ns = MonotonicNs();
        function();
        call.end_ns = MonotonicNs();
      }
    }
    if (write(to_parent, &word, 1) != 1) break;
  }
  _exit(0);
}

class Child {
 public:
  static absl::StatusOr<Child> Start(
      const std::vector<ProbedFunction>& functions) {
    Child child;
    child.bytes_ = 2 * functions.size() * sizeof(Calls);
    void* const memory = mmap(nullptr, child.bytes_, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return base::ErrnoStatus(errno, "Cannot map memory");
    }
    child.calls_ = static_cast<Calls*>(memory);
    int to_child[2], to_parent[2];
    if (pipe2(to_child, O_CLOEXEC) != 0) {
      return base::ErrnoStatus(errno, "Cannot create a pipe");
    }
    const base::ScopedFd child_end(to_child[0]);
    child.to_child_ = base::ScopedFd(to_child[1]);
    if (pipe2(to_parent, O_CLOEXEC) != 0) {
      return base::ErrnoStatus(errno, "Cannot create a pipe");
    }
    child.from_child_ = base::ScopedFd(to_parent[0]);
    const base::ScopedFd other_end(to_parent[1]);
    child.pid_ = fork();
    if (child.pid_ < 0) return base::ErrnoStatus(errno, "Cannot fork");
    if (child.pid_ == 0) {
      // Else the child would not see that the parent is gone.
      close(to_child[1]);
      RunChild(functions, child.calls_, to_child[0], to_parent[1]);
    }
    return child;
  }
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        calls_(std::exchange(other.calls_, nullptr)),
        bytes_(other.bytes_),
        to_child_(std::move(other.to_child_)),
        from_child_(std::move(other.from_child_)) {}
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    if (calls_ != nullptr) munmap(calls_, bytes_);
  }

  pid_t pid() const { return pid_; }
  const Calls* calls() const { return calls_; }

  // Has it call all functions; `while_it_runs` is called now and then.
  template <typename Work>
  bool Run(const Work& while_it_runs) {
    char word = 1;
    if (write(to_child_.get(), &word, 1) != 1) return false;
    const std::uint64_t until_ns =
        MonotonicNs() + kChildMilliseconds * std::uint64_t{1'000'000};
    while (MonotonicNs() < until_ns) {
      pollfd ready = {from_child_.get(), POLLIN, 0};
      const int count = poll(&ready, 1, 1);
      while_it_runs();
      if (count == 1) return read(from_child_.get(), &word, 1) == 1;
    }
    return false;
  }

 private:
  Child() = default;

  pid_t pid_ = -1;
  Calls* calls_ = nullptr;
  std::size_t bytes_ = 0;
  base::ScopedFd to_child_, from_child_;
};

// The median and its limits: half of the fastest call, and two and a half times
// what 5 % of the calls exceed, or the mean with all interruptions. The machine
// may be faster or slower later (single steps of one virtual machine took 11 us
// and 24 us on one day), and a program's caches are colder than a loop's.
ProbeCost::Range RangeOf(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  const auto positive = [](std::int64_t value) {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(value, 0, 1'000'000'000));
  };
  const std::size_t last = values.size() - 1;
  const std::int64_t mean =
      std::accumulate(values.begin(), values.end(), std::int64_t{0}) /
      static_cast<std::int64_t>(values.size());
  const std::int64_t high = std::max(values[last * 95 / 100], mean);
  return {positive(values[last / 2]), positive(values.front() / 2),
          positive(2 * high + high / 2)};
}

// A record of the child.
struct Hit {
  std::uint64_t time_ns;
  std::uint16_t event_id;
};

// `plain`, `probed`: calls without and with the probe; `hits`: by time.
std::optional<ProbeParts> PartsOf(const Calls& plain, const Calls& probed,
                                  const std::vector<Hit>& hits,
                                  std::uint32_t hook, bool returns) {
  std::vector<std::int64_t> lengths;
  for (const Call& call : plain) {
    lengths.push_back(static_cast<std::int64_t>(call.end_ns - call.begin_ns));
  }
  // The clock's readings and the call itself.
  const std::int64_t own_ns = RangeOf(lengths).ns;
  std::vector<std::int64_t> before, inside, after;
  auto hit = hits.begin();
  for (const Call& call : probed) {
    const auto next = [&](bool exit) -> const Hit* {
      while (hit != hits.end() &&
             (hit->time_ns < call.begin_ns ||
              logformat::EventHookId(hit->event_id) != hook)) {
        ++hit;
      }
      if (hit == hits.end() || hit->time_ns > call.end_ns ||
          ((hit->event_id & logformat::kEventExitBit) != 0) != exit) {
        return nullptr;
      }
      return &*hit++;
    };
    const Hit* const enter = next(false);
    const Hit* const exit = returns && enter != nullptr ? next(true) : enter;
    if (enter == nullptr || exit == nullptr) continue;
    before.push_back(static_cast<std::int64_t>(enter->time_ns - call.begin_ns) -
                     own_ns / 2);
    inside.push_back(static_cast<std::int64_t>(exit->time_ns - enter->time_ns));
    after.push_back(static_cast<std::int64_t>(call.end_ns - exit->time_ns) -
                    own_ns / 2);
  }
  if (before.size() < kFewestCalls) return std::nullopt;
  return ProbeParts{RangeOf(before), RangeOf(inside), RangeOf(after)};
}

// A text of usual length. It is at the same address in the child.
constexpr char kText[] = "select name from table where id=";

// As many values as a kind has, which cost as much to read.
void StoreValues(const ProbeKind& kind, countrace_stored_values& stored,
                 HookValues& values) {
  const bool of_kernel = kind.way != FunctionWay::kNone;
  const auto sources = of_kernel ? KernelFunctionSources() : FunctionSources();
  std::vector<HookValue> has(kind.numbers + kind.texts);
  for (std::size_t i = 0; i < has.size(); ++i) {
    has[i].name = std::string(i + 1, 'v');
    has[i].source = sources.arguments[i];
    if (i < kind.numbers) continue;
    has[i].type = logformat::PayloadType::kString;
    has[i].text = of_kernel ? COUNTRACE_TEXT_KERNEL : COUNTRACE_TEXT_USER;
    has[i].source.place = COUNTRACE_VALUE_CONSTANT;
    has[i].source.displacement = std::bit_cast<std::intptr_t>(&kText[0]);
  }
  WantedValues all;
  all.all = true;
  (void)ChooseValues(all, has, stored, values);
}

// `function`: calls that which the hook is on.
absl::StatusOr<DynamicHook> HookToMeasure(const ProbeKind& kind,
                                          ProbedFunction& function) {
  DynamicHook hook;
  hook.provider = "calibration";
  hook.name = "probe";
  hook.location = "/proc/self/exe";
  hook.kind = kind.returns ? logformat::HookKind::kSegment
                           : logformat::HookKind::kPoint;
  HookAttachment at;
  at.place = kind.returns ? Place::kEnter : Place::kPoint;
  if (kind.way == FunctionWay::kNone) {
    function = FunctionWith(kind.instruction, kind.returns);
    const auto offset =
        function == nullptr ? std::nullopt : FileOffsetOf(function);
    if (!offset) {
      return absl::UnimplementedError(
          "there are no functions to measure it with on this architecture");
    }
    at.file = "/proc/self/exe";
    at.offset = *offset;
  } else {
    if (MeasuredFunction() == nullptr) {
      return absl::UnimplementedError(
          "this kernel describes no function to measure it with");
    }
    function = [] { (void)syscall(SYS_getppid); };
    hook.type = DynamicHook::Type::kKernelFunction;
    at.function = MeasuredFunction();
    at.traced = kind.way == FunctionWay::kTraced;
  }
  StoreValues(kind, at.stored, hook.values);
  hook.attachments.push_back(at);
  if (kind.returns) {
    at.stored = {};
    at.place = Place::kExit;
    at.on_return = at.function.empty();
    hook.attachments.push_back(at);
  }
  return hook;
}

class ChildRecords {
 public:
  ChildRecords(BpfPrograms& programs, const BpfProgramOptions& options,
               pid_t child)
      : hooks_(options.hooks.dynamic), child_(child) {
    const logformat::EventSets sets = options.choice.sets(true);
    for (std::size_t slot = 0; slot < options.cpus.size(); ++slot) {
      readers_.emplace_back(
          programs.control(slot), programs.ring(slot), programs.ring_bytes(),
          sets.slots() + (sets.rotates() ? 1 : 0), MonotonicNs(), &hooks_);
    }
  }
  absl::Status Open() { return hooks_.OpenUnstored(); }

  void Drain() {
    for (KernelRingReader& reader : readers_) {
      RecordBatch batch;
      reader.Drain(batch);
      for (const KernelRecord& record : batch.records()) {
        if (record.event_id == kLossEntry || record.event_id == kCountedEntry ||
            logformat::EventHookId(record.event_id) <
                logformat::kHookIdKernelMin) {
          continue;
        }
        const std::uint64_t ids = batch.Words(record)[0];
        if (static_cast<pid_t>(ids & 0xffffff) != child_) continue;
        hits_.push_back({record.time_ns, record.event_id});
      }
    }
  }
  std::vector<Hit> Take() {
    std::stable_sort(
        hits_.begin(), hits_.end(),
        [](const Hit& a, const Hit& b) { return a.time_ns < b.time_ns; });
    return std::move(hits_);
  }

 private:
  KernelHookRegistry hooks_;
  pid_t child_;
  std::vector<KernelRingReader> readers_;
  std::vector<Hit> hits_;
};

}  // namespace

absl::StatusOr<std::map<ProbeKind, ProbeParts>> MeasureProbes(
    BpfProgramOptions options, const std::vector<ProbeKind>& kinds) {
  std::vector<ProbedFunction> functions;
  options.hooks.dynamic.clear();
  options.hooks.attaching = nullptr;
  // Programs that do not run at a probe are not loaded.
  options.hooks.irqs = options.hooks.softirqs = options.hooks.faults = false;
  options.wakeups = options.names_code = false;
  options.hook_rules = {};
  options.off_cpu = {};
  options.ring_bytes = kRingBytes;
  for (const ProbeKind& kind : kinds) {
    auto hook = HookToMeasure(kind, functions.emplace_back());
    if (!hook.ok()) return hook.status();
    options.hooks.dynamic.push_back(*std::move(hook));
    if (kind.way == FunctionWay::kNone) continue;
    // Their own cost would be in the calls with hooks alone.
    options.hooks.syscalls = false;
    options.hooks.arguments.clear();
  }
  auto values = ResolveKernelHookRules({}, options.hooks, /*tick_ns=*/1);
  if (!values.ok()) return values.status();
  options.hook_rules = *std::move(values);
  auto child = Child::Start(functions);
  if (!child.ok()) return child.status();
  const absl::Status held_up = absl::UnavailableError(
      "the process that measures it did not answer within 2 s");
  if (!child->Run([] {})) return held_up;
  std::vector<logformat::NotRecorded> ignored;
  const auto programs = BpfPrograms::Load(options, ignored);
  if (!programs.ok()) return programs.status();
  if (options.follow_marks && options.gating.marked) {
    const absl::Status marked = (*programs)->Mark(child->pid());
    if (!marked.ok()) return marked;
  }
  ChildRecords records(**programs, options, child->pid());
  const absl::Status opened = records.Open();
  if (!opened.ok()) return opened;
  for (const std::uint32_t cpu : options.cpus) {
    const absl::Status began =
        (*programs)->DumpCounters(cpu, logformat::CountersReason::kBegin);
    if (!began.ok()) return began;
  }
  if (!child->Run([&] { records.Drain(); })) return held_up;
  records.Drain();
  const std::vector<Hit> hits = records.Take();
  std::map<ProbeKind, ProbeParts> parts;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto of =
        PartsOf(child->calls()[i], child->calls()[kinds.size() + i], hits,
                logformat::kHookIdKernelMin + static_cast<std::uint32_t>(i),
                kinds[i].returns);
    if (!of) {
      return absl::UnavailableError(
          "records of the measured calls are missing");
    }
    parts.emplace(kinds[i], *of);
  }
  return parts;
}

}  // namespace countrace::runtime
