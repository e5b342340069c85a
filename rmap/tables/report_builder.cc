#include "rmap/tables/report_builder.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "rmap/tables/recording_cost.h"
#include "rmap/tables/report_events.h"
#include "rmap/tables/waker_rows.h"

namespace countrace::rmap {

namespace {

class Builder {
 public:
  Builder(const ReportSources& sources, Report& report)
      : in_(sources),
        out_(report),
        plans_(FillEvents(sources.info, sources.registry.gate(), report)) {
    has_kernel_ = in_.dispatches.coverage().any;
    // Over all CPUs; which events any CPU counted at all.
    for (const CpuState& cpu : in_.dispatches.cpus()) {
      counted_ |= cpu.counters.counted | cpu.counters.counted_before;
    }
  }

  void Build() {
    in_.registry.SettleProcesses();
    cost_.emplace(in_.info, in_.registry);
    for (const ProcessState& process : in_.registry.processes()) {
      for (const std::uint64_t hits : process.hits.hits) {
        out_.own_cost.hook_records += hits;
      }
      out_.own_cost.hook_dumps += process.hits.dumps;
    }
    BuildThreads();
    BuildProcesses();
    BuildCpus();
    ChooseSegmentSources();
    BuildSegments();
    BuildBooks();
    BuildHooks();
    BuildWakers(in_.info, in_.dispatches.blocked(), out_);
  }

 private:
  bool IsCounted(const EventPlan& plan) const {
    return plan.cpu_event && (counted_ >> *plan.cpu_event & 1u);
  }

  // Values of a kernel dump indexed as Report::events.
  template <typename Values>
  Counts ToCounts(const Values& values) const {
    Counts counts(plans_.size());
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (IsCounted(plans_[i])) counts[i] = values[*plans_[i].cpu_event];
    }
    return counts;
  }

  // False if it was not counted, and nothing of it before it was marked.
  static bool HasRow(const ProcessState& process) {
    return process.counted ||
           std::any_of(process.threads.begin(), process.threads.end(),
                       [](const ThreadState* thread) {
                         return thread->dispatch.dispatches != 0 ||
                                thread->dispatch.on_cpu_ns != 0 ||
                                thread->hooks.last_ns != 0;
                       });
  }

  bool Rotates(const EventPlan& plan) const {
    return plan.cpu_event &&
           (in_.dispatches.dumps().rotating() >> *plan.cpu_event & 1u);
  }

  // Puts estimates in the place of what was counted in turns.
  template <typename Row>
  void Scale(const std::vector<SliceSums>& slices, std::uint64_t whole_ns,
             Row& row) const {
    row.scaled.resize(plans_.size());
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!Rotates(plans_[i])) continue;
      const std::size_t event = *plans_[i].cpu_event;
      row.scaled[i].reset();
      row.counts[i].reset();
      if (event >= slices.size()) continue;
      row.scaled[i] = slices[event].Estimate(whole_ns);
      if (row.scaled[i]) row.counts[i] = row.scaled[i]->value;
    }
  }

  // A process's slices, or those of its threads, if it was not known at first
  // whose threads they were.
  static std::vector<SliceSums> SlicesOf(const ProcessState& process) {
    std::vector<SliceSums> sum;
    for (const ThreadState* thread : process.threads) {
      sum.resize(std::max(sum.size(), thread->kernel.slices.size()));
      for (std::size_t i = 0; i < thread->kernel.slices.size(); ++i) {
        sum[i].Merge(thread->kernel.slices[i]);
      }
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      if (i < process.slices.size() &&
          process.slices[i].running() == sum[i].running()) {
        sum[i] = process.slices[i];
      }
    }
    return sum;
  }

  void BuildThreads() {
    for (const ThreadState& thread : in_.registry.threads()) {
      if (thread.announced) continue;  // expected, never came
      if (!HasRow(*thread.process)) continue;
      ThreadRow row;
      row.index = thread.index;
      row.process = thread.process->index;
      row.tid = thread.tid;
      row.pid = thread.process->pid;
      row.comm = thread.comm.empty() ? thread.process->comm : thread.comm;
      row.first_seen_ns = thread.first_seen_ns;
      row.last_seen_ns = thread.last_seen_ns;
      row.counts.resize(plans_.size());
      // A thread with hook records ran. If no kernel record shows it, its time
      // is unknown, not 0.
      if (has_kernel_ &&
          !(thread.dispatch.serial == 0 && thread.hooks.last_ns != 0)) {
        row.on_cpu_ns = thread.dispatch.on_cpu_ns;
        row.wait_ns = thread.dispatch.wait_ns;
        if (in_.dispatches.blocked().told())
          row.blocked_ns = thread.blocked.total_ns;
        row.counts = ToCounts(thread.kernel.counts);
        Scale(thread.kernel.slices, thread.dispatch.on_cpu_ns, row);
      } else if (has_kernel_) {
        row.quality = Quality::kBounded;
      }
      row.dispatches = thread.dispatch.dispatches;
      row.migrations = thread.dispatch.migrations;
      if (thread.dispatch.switch_inferred) row.quality = Quality::kInferred;
      if (!in_.dispatches.IsComplete(thread) || thread.kernel.shared) {
        row.quality = Quality::kBounded;
      }
      if (thread.dispatch.split_by_exec) row.quality = Quality::kInferred;
      out_.threads.push_back(std::move(row));
    }
    std::stable_sort(out_.threads.begin(), out_.threads.end(),
                     [](const ThreadRow& a, const ThreadRow& b) {
                       return std::tie(b.on_cpu_ns, a.comm, a.tid, a.index) <
                              std::tie(a.on_cpu_ns, b.comm, b.tid, b.index);
                     });
  }

  void BuildProcesses() {
    for (const ProcessState& process : in_.registry.processes()) {
      ProcessRow row;
      row.index = process.index;
      row.pid = process.pid;
      row.parent_pid = process.parent_pid;
      row.comm = process.comm;
      row.marked = process.mark;
      row.first_seen_ns = process.first_seen_ns;
      row.last_seen_ns = process.last_seen_ns;
      row.counts.resize(plans_.size());
      row.recording_ns = cost_->OfProcess(process);
      processes_.push_back(std::move(row));
    }
    for (const ThreadRow& thread : out_.threads) {
      ProcessRow& row = processes_[static_cast<std::size_t>(thread.process)];
      ++row.threads;
      row.dispatches += thread.dispatches;
      // What exec moved from thread to thread stays in the process.
      if (thread.quality == Quality::kBounded) row.quality = Quality::kBounded;
      if (!thread.on_cpu_ns) {
        // Its share is missing from what the others add up to.
        row.quality = Worse(row.quality, Quality::kBounded);
        continue;
      }
      row.on_cpu_ns = row.on_cpu_ns.value_or(0) + *thread.on_cpu_ns;
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        if (thread.counts[i]) {
          row.counts[i] = row.counts[i].value_or(0) + *thread.counts[i];
        }
      }
    }
    for (const ThreadState& thread : in_.registry.threads()) {
      if (!thread.dispatch.switch_inferred) continue;
      ProcessRow& row =
          processes_[static_cast<std::size_t>(thread.process->index)];
      row.quality = Worse(row.quality, Quality::kInferred);
    }
    for (const ProcessState& process : in_.registry.processes()) {
      ProcessRow& row = processes_[static_cast<std::size_t>(process.index)];
      if (row.on_cpu_ns) Scale(SlicesOf(process), *row.on_cpu_ns, row);
    }
    for (ProcessRow& row : processes_) {
      // An estimate is never more than what it is of.
      if (row.recording_ns && row.on_cpu_ns) {
        row.recording_ns = std::min(*row.recording_ns, *row.on_cpu_ns);
      }
      if (!has_kernel_) row.quality = Quality::kExact;  // nothing to qualify
      if (row.threads != 0) out_.processes.push_back(row);
    }
    std::stable_sort(out_.processes.begin(), out_.processes.end(),
                     [](const ProcessRow& a, const ProcessRow& b) {
                       return std::tie(b.on_cpu_ns, a.comm, a.pid, a.index) <
                              std::tie(a.on_cpu_ns, b.comm, b.pid, b.index);
                     });
  }

  void BuildCpus() {
    for (const CpuState& cpu : in_.dispatches.cpus()) {
      if (!cpu.begun) continue;
      CpuRow row;
      row.cpu = cpu.cpu;
      row.wall_ns = cpu.last_ns - cpu.begin_ns - cpu.absent_ns;
      row.busy_ns = cpu.busy.ns;
      row.idle_ns = cpu.idle.ns;
      row.interrupts_ns = cpu.interrupts.ns;
      row.outside_ns = cpu.outside.ns;
      row.unattributed_ns = cpu.unattributed.ns;
      row.dispatches = cpu.dispatches;
      CounterValues totals{};
      for (std::size_t i = 0; i < totals.size(); ++i) {
        totals[i] = cpu.counters.closed[i] + cpu.counters.last[i] -
                    cpu.counters.first[i];
      }
      row.counts = ToCounts(totals);
      ScaleCpu(cpu, row);
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        // Counted elsewhere, not here: absent, not 0.
        const std::uint32_t counted =
            cpu.counters.counted | cpu.counters.counted_before;
        if (row.counts[i] && !(counted >> *plans_[i].cpu_event & 1u)) {
          row.counts[i].reset();
        }
      }
      out_.cpu_rows.push_back(std::move(row));
    }
    std::sort(out_.cpu_rows.begin(), out_.cpu_rows.end(),
              [](const CpuRow& a, const CpuRow& b) { return a.cpu < b.cpu; });
  }

  static constexpr CpuAccount CpuState::*kAccounts[] = {
      &CpuState::busy, &CpuState::idle, &CpuState::interrupts,
      &CpuState::outside, &CpuState::unattributed};

  void ScaleCpu(const CpuState& cpu, CpuRow& row) const {
    row.scaled.resize(plans_.size());
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!Rotates(plans_[i])) continue;
      const std::size_t event = *plans_[i].cpu_event;
      row.counts[i].reset();
      ScaledCount sum;
      std::optional<double> variance = 0.0;
      for (const auto account : kAccounts) {
        const CpuAccount& from = cpu.*account;
        if (event >= from.slices.size()) continue;
        const bool nobodys = account == &CpuState::unattributed;
        const auto part =
            from.slices[event].Estimate(nobodys ? row.wall_ns : from.ns);
        if (!part) continue;
        sum.value += part->value;
        sum.counted += part->counted;
        // Unattributed: of all the CPU did (set_turns.cc).
        if (nobodys) sum.running = part->running;
        sum.slices = std::max(sum.slices, part->slices);
        variance = AddVariance(variance, part->standard_error);
      }
      if (sum.running == 0) continue;
      sum.enabled = row.wall_ns;
      if (variance) sum.standard_error = std::sqrt(*variance);
      row.scaled[i] = sum;
      row.counts[i] = sum.value;
    }
  }

  static std::optional<double> AddVariance(std::optional<double> variance,
                                           std::optional<double> error) {
    if (!variance || !error) return std::nullopt;
    return *variance + *error * *error;
  }

  // The estimate of one account of all CPUs.
  std::optional<ScaledCount> ScaleAccount(CpuAccount CpuState::*account,
                                          std::size_t event) const {
    SliceSums sum;
    std::uint64_t ns = 0;
    for (const CpuState& cpu : in_.dispatches.cpus()) {
      const CpuAccount& part = cpu.*account;
      ns += account == &CpuState::unattributed
                ? cpu.last_ns - cpu.begin_ns - cpu.absent_ns
                : part.ns;
      if (event < part.slices.size()) sum.Merge(part.slices[event]);
    }
    return sum.Estimate(ns);
  }

  ScaledBooks ScaleBooks(std::size_t plan, std::size_t event) const {
    ScaledBooks books;
    std::optional<double> variance = 0.0;
    std::optional<std::uint64_t>* const places[] = {
        &books.processes, &books.idle, &books.interrupts, &books.outside,
        &books.unattributed};
    for (std::size_t i = 0; i < std::size(kAccounts); ++i) {
      const auto scaled = ScaleAccount(kAccounts[i], event);
      if (!scaled) continue;
      *places[i] = scaled->value;
      if (places[i] == &books.processes) books.tasks = scaled;
      books.total += scaled->value;
      if (places[i] == &books.unattributed) books.running_ns = scaled->running;
      variance = AddVariance(variance, scaled->standard_error);
    }
    for (const CpuRow& row : out_.cpu_rows) books.enabled_ns += row.wall_ns;
    if (variance) books.standard_error = std::sqrt(*variance);
    for (const ProcessRow& row : out_.processes) {
      if (in_.info.recorder_pid <= 0 || row.pid != in_.info.recorder_pid) {
        continue;
      }
      if (!row.counts[plan] || !books.processes) continue;
      const std::uint64_t own = std::min(*row.counts[plan], *books.processes);
      books.own = books.own.value_or(0) + own;
      *books.processes -= own;
    }
    return books;
  }

  void ChooseSegmentSources() {
    KernelFacts facts;
    facts.kernel_dumps = in_.kernel_dumps;
    facts.thread_events =
        std::min(in_.info.thread_events.size(), logformat::kMaxCounters);
    facts.dispatches = has_kernel_;
    facts.fault_records = in_.fault_records;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!IsPageFaults(plans_[i].name)) continue;
      if (!IsCounted(plans_[i])) facts.counted_faults = 1;  // unknown
      for (const ProcessRow& row : processes_) {
        facts.counted_faults += row.counts[i].value_or(0);
      }
    }
    ChooseSources(facts, plans_);
    for (const EventPlan& plan : plans_) {
      out_.segment_sources.push_back(plan.source);
    }
  }

  // Everything of a row that is not a name.
  SegmentRow RowOf(const ProcessState& process, std::uint32_t hook_id,
                   SegmentAmounts amounts,
                   const DurationStatistics& wall) const {
    SegmentRow row;
    // Both are lower bounds after a loss, found in different ways.
    amounts.incl.on_cpu_ns =
        std::max(amounts.incl.on_cpu_ns, amounts.excl.on_cpu_ns);
    row.pid = process.pid;
    row.process = process.index;
    row.comm = process.comm;
    row.wall.incl = amounts.incl.wall_ns;
    row.wall.excl = amounts.excl.wall_ns;
    wall.Fill(row.wall);
    if (has_kernel_) {
      row.on_cpu = {amounts.incl.on_cpu_ns, amounts.excl.on_cpu_ns};
      row.off_cpu = {amounts.incl.wall_ns -
                         std::min(amounts.incl.wall_ns, amounts.incl.on_cpu_ns),
                     amounts.excl.wall_ns - std::min(amounts.excl.wall_ns,
                                                     amounts.excl.on_cpu_ns)};
      row.wait = {amounts.incl.wait_ns, amounts.excl.wait_ns};
      if (in_.dispatches.blocked().told()) {
        row.blocked = {amounts.incl.blocked_ns, amounts.excl.blocked_ns};
      }
      row.on_cpu_quality = amounts.on_cpu_quality;
      if (in_.dispatches.coverage().cut) {
        row.on_cpu_quality = Worse(row.on_cpu_quality, Quality::kBounded);
      }
    }
    // Of a kernel hook, calls may be missing; of what was on a CPU when it lost
    // records, calls of kernel hooks inside, which are then its own time.
    const bool kernel_loss =
        in_.kernel_hooks_lost && (hook_id >= logformat::kHookIdKernelMin ||
                                  row.on_cpu_quality != Quality::kExact);
    const bool lossy = process.hooks_lost || in_.session_loss || kernel_loss;
    for (const EventPlan& plan : plans_) {
      row.counts.push_back(CountOf(plan, amounts));
      const bool from_kernel = plan.source != SegmentSource::kThreadDumps;
      if (from_kernel && row.counts.back()) {
        row.counts.back()->quality =
            Worse(row.counts.back()->quality, row.on_cpu_quality);
      }
      if (lossy && row.counts.back()) {
        row.counts.back()->quality =
            Worse(row.counts.back()->quality, Quality::kBounded);
      }
    }
    if (lossy) {
      row.quality = Quality::kBounded;
      row.on_cpu_quality = Worse(row.on_cpu_quality, Quality::kBounded);
    }
    return row;
  }

  static void SetCalls(std::uint64_t calls, std::uint64_t begin_inferred,
                       std::uint64_t end_inferred, SegmentRow& row) {
    row.calls = calls;
    row.begin_inferred = begin_inferred;
    row.end_inferred = end_inferred;
    if (begin_inferred + end_inferred == 0) return;
    row.quality = row.on_cpu_quality = Quality::kInferred;
    for (std::optional<SegmentCount>& count : row.counts) {
      if (count) count->quality = Quality::kInferred;
    }
  }

  // As of a process.
  static void SetRecording(std::optional<std::uint64_t> ns, SegmentRow& row) {
    if (ns) row.recording_ns = std::min(*ns, row.wall.incl);
  }

  static std::uint64_t SortTime(const SegmentRow& row) {
    return row.on_cpu ? row.on_cpu->incl : 0;
  }
  static bool RowLess(const SegmentRow& a, const SegmentRow& b) {
    const std::uint64_t a_time = SortTime(a), b_time = SortTime(b);
    return std::tie(b_time, b.wall.incl, a.segment, a.pid, a.process) <
           std::tie(a_time, a.wall.incl, b.segment, b.pid, b.process);
  }

  struct SegmentSum {
    SegmentAmounts amounts;
    DurationStatistics wall;
    std::uint64_t calls = 0, begin_inferred = 0, end_inferred = 0;
    std::optional<std::uint64_t> recording_ns;
  };

  void BuildSegments() {
    for (const ProcessState& process : in_.registry.processes()) {
      BuildSegmentsOf(process);
    }
    BuildSegmentsOf(in_.registry.interrupts());
    std::sort(out_.segments.begin(), out_.segments.end(), RowLess);
    EmitPathGroups();
  }

  void BuildSegmentsOf(const ProcessState& process) {
    if (process.paths->children.empty()) return;
    std::map<std::uint32_t, SegmentSum> by_hook;
    std::vector<SegmentRow> paths;
    Collect(process, *process.paths, {}, by_hook, paths);
    path_groups_.push_back(std::move(paths));
    for (const auto& [hook_id, sum] : by_hook) {
      // Only its enter was seen, and that was the recorder's own doing.
      if (sum.calls + sum.begin_inferred == 0) continue;
      SegmentRow row = RowOf(process, hook_id, sum.amounts, sum.wall);
      row.segment = HookName(in_.info, hook_id);
      SetRecording(sum.recording_ns, row);
      SetCalls(sum.calls, sum.begin_inferred, sum.end_inferred, row);
      out_.segments.push_back(std::move(row));
    }
  }

  // Children of `node` in the order of their rows, each followed by its own.
  void Collect(const ProcessState& process, const PathNode& node,
               const std::vector<std::string>& path,
               std::map<std::uint32_t, SegmentSum>& by_hook,
               std::vector<SegmentRow>& rows) {
    // Not recursive: a path can be as deep as the frame limit.
    struct Visit {
      const PathNode* node;
      SegmentRow row;
    };
    std::vector<Visit> pending;
    const auto push_children = [&](const PathNode& parent,
                                   const std::vector<std::string>& prefix) {
      std::vector<Visit> children;
      for (const PathNode::Child& child : parent.children) {
        children.push_back({child.node, PathRow(process, *child.node, prefix)});
      }
      std::sort(
          children.begin(), children.end(),
          [](const Visit& a, const Visit& b) { return RowLess(b.row, a.row); });
      std::move(children.begin(), children.end(), std::back_inserter(pending));
    };
    push_children(node, path);
    while (!pending.empty()) {
      Visit visit = std::move(pending.back());
      pending.pop_back();
      SegmentSum& sum = by_hook[visit.node->hook_id];
      AddToSegment(*visit.node, sum);
      const auto recording_ns = cost_->InSegment(*visit.node);
      if (recording_ns && !visit.node->recursive) {
        sum.recording_ns = sum.recording_ns.value_or(0) + *recording_ns;
      }
      rows.push_back(std::move(visit.row));
      const PathNode& shown = *visit.node;
      if (shown.calls + shown.begin_inferred == 0 && shown.children.empty()) {
        rows.pop_back();
        continue;
      }
      // Copied: pushing rows may move the one it lies in.
      const std::vector<std::string> prefix = rows.back().path;
      push_children(*visit.node, prefix);
    }
  }

  SegmentRow PathRow(const ProcessState& process, const PathNode& node,
                     const std::vector<std::string>& prefix) const {
    SegmentRow row = RowOf(process, node.hook_id, AmountsOf(node), node.wall);
    row.segment = HookName(in_.info, node.hook_id);
    row.path = prefix;
    row.path.push_back(row.segment);
    SetRecording(cost_->InSegment(node), row);
    SetCalls(node.calls, node.begin_inferred, node.end_inferred, row);
    return row;
  }

  static void AddToSegment(const PathNode& node, SegmentSum& sum) {
    AddAmounts(AmountsOf(node), node.recursive, sum.amounts);
    sum.wall.Merge(node.wall);
    sum.calls += node.calls;
    sum.begin_inferred += node.begin_inferred;
    sum.end_inferred += node.end_inferred;
  }

  // Processes in the order of their time in segments, trees kept whole.
  void EmitPathGroups() {
    const auto total = [](const std::vector<SegmentRow>& rows) {
      std::uint64_t on_cpu_ns = 0, wall_ns = 0;
      for (const SegmentRow& row : rows) {
        if (row.path.size() != 1) continue;
        on_cpu_ns += SortTime(row);
        wall_ns += row.wall.incl;
      }
      return std::pair(on_cpu_ns, wall_ns);
    };
    std::stable_sort(
        path_groups_.begin(), path_groups_.end(),
        [&](const auto& a, const auto& b) { return total(b) < total(a); });
    for (std::vector<SegmentRow>& rows : path_groups_) {
      std::move(rows.begin(), rows.end(),
                std::back_inserter(out_.segment_paths));
    }
  }

  void BuildBooks() {
    std::uint64_t hooks_ns = 0;
    for (const ProcessRow& row : processes_) {
      hooks_ns += row.recording_ns.value_or(0);
    }
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!plans_[i].cpu_event) continue;
      const std::size_t event = *plans_[i].cpu_event;
      Books books;
      books.known = IsCounted(plans_[i]);
      for (const CpuState& cpu : in_.dispatches.cpus()) {
        books.total += cpu.counters.closed[event] + cpu.counters.last[event] -
                       cpu.counters.first[event];
        books.processes += cpu.busy.counts[event];
        books.idle += cpu.idle.counts[event];
        books.interrupts += cpu.interrupts.counts[event];
        books.outside += cpu.outside.counts[event];
        books.unattributed += cpu.unattributed.counts[event];
      }
      books.own = std::min(OwnCount(event), books.processes);
      books.processes -= books.own;
      // Modulo 2^64, so that the difference is right whatever its sign.
      books.residual = static_cast<std::int64_t>(
          books.total - books.processes - books.own - books.idle -
          books.interrupts - books.outside - books.unattributed);
      AddDoubt(in_.dispatches.doubts(), event, books.doubt);
      AddDoubt(in_.counters.doubts(), event, books.doubt);
      books.in_segments = InSegments(i, books.processes);
      if (IsOnCpuTime(plans_[i].name)) {
        books.recording = cost_->OfBooks(in_.info, in_.dispatches, hooks_ns);
      }
      if (books.known && Rotates(plans_[i])) {
        books.scaled = ScaleBooks(i, event);
        // Those are of all processes, these of some turns.
        books.in_segments.reset();
      }
      out_.books.push_back(books);
    }
  }

  static void AddDoubt(const CounterDoubts& doubts, std::size_t event,
                       BooksDoubt& sum) {
    const DoubtSum& wrapped = doubts.Of(DoubtReason::kWrapped, event);
    sum.wrapped_intervals += wrapped.intervals;
    sum.wrapped_ns += wrapped.ns;
    const DoubtSum& went_back = doubts.Of(DoubtReason::kWentBack, event);
    sum.went_back_intervals += went_back.intervals;
    sum.went_back_ns += went_back.ns;
    const DoubtSum& other = doubts.Of(DoubtReason::kOtherMmcr, event);
    sum.other_mmcr_intervals += other.intervals;
    sum.other_mmcr_ns += other.ns;
  }

  // What the recorder's own threads counted.
  std::uint64_t OwnCount(std::size_t event) const {
    std::uint64_t sum = 0;
    if (in_.info.recorder_pid <= 0) return sum;
    for (const ThreadState& thread : in_.registry.threads()) {
      if (thread.process->pid != in_.info.recorder_pid) continue;
      sum += thread.kernel.counts[event];
    }
    return sum;
  }

  std::optional<std::uint64_t> InSegments(std::size_t event,
                                          std::uint64_t processes) const {
    // Of dumps at kernel hooks only some segments have any.
    if (plans_[event].source == SegmentSource::kNone ||
        plans_[event].source == SegmentSource::kKernelDumps) {
      return std::nullopt;
    }
    std::uint64_t sum = 0;
    for (const SegmentRow& row : out_.segment_paths) {
      if (row.path.size() == 1 && row.counts[event] && row.pid != 0) {
        sum += row.counts[event]->incl;
      }
    }
    // The counter is read some ns before or after the record's time; what is in
    // segments is never more than there is.
    return std::min(sum, processes);
  }

  void BuildHooks() {
    for (const ProcessState& process : in_.registry.processes()) {
      AddHooks(process, process.hits.hits, 0);
      AddHooks(process, process.kernel_hook_hits, logformat::kHookIdKernelMin);
    }
    const ProcessState& interrupts = in_.registry.interrupts();
    AddHooks(interrupts, interrupts.kernel_hook_hits,
             logformat::kHookIdKernelMin);
    std::sort(out_.hooks.begin(), out_.hooks.end(),
              [](const HookRow& a, const HookRow& b) {
                return std::tie(b.hits, a.hook, a.pid, a.process) <
                       std::tie(a.hits, b.hook, b.pid, b.process);
              });
  }

  void AddHooks(const ProcessState& process,
                const std::vector<std::uint64_t>& hits,
                std::uint32_t first_id) {
    for (std::size_t i = 0; i < hits.size(); ++i) {
      if (hits[i] == 0) continue;
      const auto id = first_id + static_cast<std::uint32_t>(i);
      out_.hooks.push_back({HookName(in_.info, id), process.pid, process.index,
                            process.comm, hits[i]});
    }
  }

  const ReportSources& in_;
  Report& out_;
  std::vector<EventPlan> plans_;
  std::optional<RecordingCost> cost_;  // set by Build()
  std::vector<ProcessRow> processes_;  // by ProcessIndex
  std::vector<std::vector<SegmentRow>> path_groups_;
  std::uint32_t counted_ = 0;
  bool has_kernel_ = false;
};

}  // namespace

void BuildTables(const ReportSources& sources, Report& report) {
  Builder(sources, report).Build();
}

}  // namespace countrace::rmap
