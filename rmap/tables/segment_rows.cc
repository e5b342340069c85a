#include "rmap/tables/segment_rows.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "rmap/state/call_paths.h"
#include "rmap/tables/report_events.h"
#include "rmap/tables/waker_rows.h"

namespace countrace::rmap {

namespace {

class SegmentRows {
 public:
  SegmentRows(const TableInput& input, Report& report)
      : input_(input), report_(report) {}

  void Build() {
    for (const ProcessState& process : input_.in.registry.processes()) {
      BuildSegmentsOf(process);
    }
    BuildSegmentsOf(input_.in.registry.interrupts());
    std::sort(report_.segments.begin(), report_.segments.end(), RowLess);
    EmitPathGroups();
  }

 private:
  // Fills a row, except its name.
  SegmentRow RowOf(const ProcessState& process, std::uint32_t hook_id,
                   SegmentAmounts amounts,
                   const DurationStatistics& wall) const {
    SegmentRow row;
    // After a loss both are lower bounds, computed in different ways.
    amounts.incl.on_cpu_ns =
        std::max(amounts.incl.on_cpu_ns, amounts.excl.on_cpu_ns);
    row.pid = process.pid;
    row.process = process.index;
    row.comm = process.comm;
    row.wall.incl = amounts.incl.wall_ns;
    row.wall.excl = amounts.excl.wall_ns;
    wall.Fill(row.wall);
    if (input_.has_kernel) {
      row.on_cpu = {amounts.incl.on_cpu_ns, amounts.excl.on_cpu_ns};
      row.off_cpu = {amounts.incl.wall_ns -
                         std::min(amounts.incl.wall_ns, amounts.incl.on_cpu_ns),
                     amounts.excl.wall_ns - std::min(amounts.excl.wall_ns,
                                                     amounts.excl.on_cpu_ns)};
      row.wait = {amounts.incl.wait_ns, amounts.excl.wait_ns};
      if (input_.in.dispatches.blocked().saw_wakeup()) {
        row.blocked = {amounts.incl.blocked_ns, amounts.excl.blocked_ns};
      }
      row.on_cpu_quality = amounts.on_cpu_quality;
      if (input_.in.dispatches.coverage().cut) {
        row.on_cpu_quality = Worse(row.on_cpu_quality, Quality::kBounded);
      }
    }
    // Calls of a kernel hook may be missing. In a segment that ran while its
    // CPU lost records, inner calls of kernel hooks may be missing, whose time
    // then counts as the segment's own.
    const bool kernel_loss = input_.in.kernel_hooks_lost &&
                             (hook_id >= logformat::kHookIdKernelMin ||
                              row.on_cpu_quality != Quality::kExact);
    const bool lossy =
        process.hooks_lost || input_.in.session_loss || kernel_loss;
    for (const EventPlan& plan : input_.plans) {
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
    if (begin_inferred + end_inferred != 0) Lower(Quality::kInferred, row);
  }

  static void Lower(Quality quality, SegmentRow& row) {
    row.quality = Worse(row.quality, quality);
    row.on_cpu_quality = Worse(row.on_cpu_quality, quality);
    for (std::optional<SegmentCount>& count : row.counts) {
      if (count) count->quality = Worse(count->quality, quality);
    }
  }

  // What inner calls recorded until their end was noticed may be this path's
  // own: its exclusive sums are not sure.
  static bool HoldsLeftCalls(const PathNode& node) {
    return node.left_unseen ||
           std::any_of(node.children.begin(), node.children.end(),
                       [](const PathNode::Child& child) {
                         return child.node->left_unseen;
                       });
  }

  // Capped, as for a process.
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
    bool inferred = false;
    // Parts of folded calls are missing: of their waiting and blocked time, of
    // the counts in dumps, of all times.
    bool waits_bounded = false, dumps_bounded = false, times_bounded = false;
  };

  void BuildSegmentsOf(const ProcessState& process) {
    if (process.paths->children.empty()) return;
    std::map<std::uint32_t, SegmentSum> by_hook;
    std::vector<SegmentRow> paths;
    Collect(process, *process.paths, {}, by_hook, paths);
    path_groups_.push_back(std::move(paths));
    AddFolded(*process.paths, by_hook);
    for (const auto& [hook_id, sum] : by_hook) {
      // Only its enter was recorded, and the recorder itself caused it.
      if (sum.calls + sum.begin_inferred == 0) continue;
      SegmentRow row = RowOf(process, hook_id, sum.amounts, sum.wall);
      row.segment = HookName(input_.in.info, hook_id);
      SetRecording(sum.recording_ns, row);
      SetCalls(sum.calls, sum.begin_inferred, sum.end_inferred, row);
      LowerFolded(sum, row);
      if (sum.inferred) Lower(Quality::kInferred, row);
      report_.segments.push_back(std::move(row));
    }
  }

  // Replaces the sum of the folding nodes by those of their segments.
  static void AddFolded(const PathNode& root,
                        std::map<std::uint32_t, SegmentSum>& by_hook) {
    if (root.folded == nullptr) return;
    const auto node = by_hook.extract(PathNode::kFolded);
    const bool waited =
        !node.empty() && node.mapped().amounts.excl.wait_ns +
                                 node.mapped().amounts.excl.blocked_ns !=
                             0;
    for (const auto& [hook_id, folded] : *root.folded) {
      SegmentSum& sum = by_hook[hook_id];
      AddFoldedTimes(folded.incl, sum.amounts.incl);
      AddFoldedTimes(folded.excl, sum.amounts.excl);
      if (!folded.on_cpu_exact) {
        sum.amounts.on_cpu_quality =
            Worse(sum.amounts.on_cpu_quality, Quality::kBounded);
      }
      sum.wall.Merge(folded.wall);
      sum.calls += folded.calls;
      sum.begin_inferred += folded.begin_inferred;
      sum.end_inferred += folded.end_inferred;
      sum.dumps_bounded = true;
      sum.waits_bounded = waited;
      sum.times_bounded = folded.times_bounded;
    }
  }

  static void AddFoldedTimes(const CallAmounts& from, SegmentSums& to) {
    const auto at_least_zero = [](std::uint64_t sum) {
      return static_cast<std::int64_t>(sum) < 0 ? 0 : sum;
    };
    to.wall_ns += at_least_zero(from.wall_ns);
    to.on_cpu_ns += at_least_zero(from.on_cpu_ns);
    to.switches += at_least_zero(from.switches);
    to.faults += at_least_zero(from.faults);
  }

  void LowerFolded(const SegmentSum& sum, SegmentRow& row) const {
    if (sum.times_bounded) Lower(Quality::kBounded, row);
    if (sum.waits_bounded) {
      row.on_cpu_quality = Worse(row.on_cpu_quality, Quality::kBounded);
    }
    for (std::size_t i = 0; i < row.counts.size() && sum.dumps_bounded; ++i) {
      const SegmentSource source = input_.plans[i].source;
      if (row.counts[i] && (source == SegmentSource::kThreadDumps ||
                            source == SegmentSource::kKernelDumps)) {
        row.counts[i]->quality =
            Worse(row.counts[i]->quality, Quality::kBounded);
      }
    }
  }

  // Adds the children of `node` in row order, each followed by its own
  // children.
  void Collect(const ProcessState& process, const PathNode& node,
               const std::vector<std::string>& path,
               std::map<std::uint32_t, SegmentSum>& by_hook,
               std::vector<SegmentRow>& rows) {
    // An explicit stack, no recursion: a path can be as deep as the frame
    // limit.
    struct Visit {
      const PathNode* node;
      SegmentRow row;
      bool in_left_call;  // an enclosing call was left unseen
    };
    std::vector<Visit> pending;
    const auto push_children = [&](const PathNode& parent,
                                   const std::vector<std::string>& prefix,
                                   bool in_left_call) {
      std::vector<Visit> children;
      for (const PathNode::Child& child : parent.children) {
        children.push_back(
            {child.node, PathRow(process, *child.node, prefix), in_left_call});
        if (in_left_call) Lower(Quality::kInferred, children.back().row);
      }
      std::sort(
          children.begin(), children.end(),
          [](const Visit& a, const Visit& b) { return RowLess(b.row, a.row); });
      std::move(children.begin(), children.end(), std::back_inserter(pending));
    };
    push_children(node, path, /*in_left_call=*/false);
    while (!pending.empty()) {
      Visit visit = std::move(pending.back());
      pending.pop_back();
      SegmentSum& sum = by_hook[visit.node->hook_id];
      AddToSegment(*visit.node, sum);
      const auto recording_ns = input_.cost.InSegment(*visit.node);
      if (recording_ns && !visit.node->recursive) {
        sum.recording_ns = sum.recording_ns.value_or(0) + *recording_ns;
      }
      rows.push_back(std::move(visit.row));
      const PathNode& shown = *visit.node;
      if (shown.calls + shown.begin_inferred == 0 && shown.children.empty()) {
        rows.pop_back();
        continue;
      }
      // A copy: adding rows may move the one that holds the path.
      const std::vector<std::string> prefix = rows.back().path;
      push_children(*visit.node, prefix,
                    visit.in_left_call || visit.node->left_unseen);
    }
  }

  SegmentRow PathRow(const ProcessState& process, const PathNode& node,
                     const std::vector<std::string>& prefix) const {
    SegmentRow row = RowOf(process, node.hook_id, AmountsOf(node), node.wall);
    row.segment = HookName(input_.in.info, node.hook_id);
    row.path = prefix;
    row.path.push_back(row.segment);
    SetRecording(input_.cost.InSegment(node), row);
    SetCalls(node.calls, node.begin_inferred, node.end_inferred, row);
    if (HoldsLeftCalls(node)) Lower(Quality::kInferred, row);
    return row;
  }

  static void AddToSegment(const PathNode& node, SegmentSum& sum) {
    AddAmounts(AmountsOf(node), node.recursive, sum.amounts);
    sum.wall.Merge(node.wall);
    sum.calls += node.calls;
    sum.begin_inferred += node.begin_inferred;
    sum.end_inferred += node.end_inferred;
    sum.inferred |= HoldsLeftCalls(node);
  }

  // Sorts processes by their time in segments and keeps each tree together.
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
                std::back_inserter(report_.segment_paths));
    }
  }

  const TableInput& input_;
  Report& report_;
  std::vector<std::vector<SegmentRow>> path_groups_;
};

}  // namespace

void ChooseSegmentSources(const std::vector<ProcessRow>& processes,
                          TableInput& input, Report& report) {
  KernelFacts facts;
  facts.kernel_dumps = input.in.kernel_dumps;
  facts.thread_events =
      std::min(input.in.info.thread_events.size(), logformat::kMaxCounters);
  facts.dispatches = input.has_kernel;
  facts.fault_records = input.in.fault_records;
  for (std::size_t i = 0; i < input.plans.size(); ++i) {
    if (!IsPageFaults(input.plans[i].name)) continue;
    if (!input.IsCounted(input.plans[i]))
      facts.counted_faults = 1;  // count unknown
    for (const ProcessRow& row : processes) {
      facts.counted_faults += row.counts[i].value_or(0);
    }
  }
  ChooseSources(facts, input.plans);
  for (const EventPlan& plan : input.plans) {
    report.segment_sources.push_back(plan.source);
  }
}

void BuildSegments(const TableInput& input, Report& report) {
  SegmentRows(input, report).Build();
}

}  // namespace countrace::rmap
