#include "rmap/tables/rows/segment_rows.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "logformat/system_call_exit.h"
#include "rmap/state/call_paths.h"
#include "rmap/tables/input/report_events.h"
#include "rmap/tables/rows/file_rows.h"
#include "rmap/tables/rows/path_groups.h"
#include "rmap/tables/rows/waker_rows.h"

namespace countrace::rmap {

namespace {

class SegmentRows {
 public:
  SegmentRows(const TableInput& input, const UnseenBounds& bounds,
              Report& report)
      : input_(input),
        values_(input.in.values),
        by_value_(values_ != nullptr && !input.in.rows.value.empty()),
        bounds_(bounds),
        report_(report) {}

  void Build() {
    // Growing would need the memory of two copies. Room that is not used takes
    // addresses only.
    std::size_t nodes = 0;
    for (const ProcessState& process : input_.in.registry.processes()) {
      ForEachNode(*process.paths, [&](const PathNode&) { ++nodes; });
    }
    report_.segments.reserve(nodes);
    report_.segment_paths.reserve(nodes);
    for (const ProcessState& process : input_.in.registry.processes()) {
      BuildSegmentsOf(process);
    }
    BuildSegmentsOf(input_.in.registry.interrupts());
    std::sort(report_.segments.begin(), report_.segments.end(), RowLess);
    SortPathGroups();
    report_.files = files_.Take();
  }

 private:
  struct Calls {
    std::uint64_t all = 0, begin_inferred = 0, end_inferred = 0;
  };

  // Fills a row, except its name and calls.
  SegmentRow RowOf(const ProcessState& process, SegmentAmounts amounts,
                   const DurationStatistics& wall) const {
    SegmentRow row;
    // After a loss both are lower bounds, computed in different ways.
    amounts.incl.on_cpu_ns =
        std::max(amounts.incl.on_cpu_ns, amounts.excl.on_cpu_ns);
    amounts.excl.on_cpu_ns =
        std::min(amounts.excl.on_cpu_ns, amounts.excl.wall_ns);
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
    }
    row.counts.reserve(input_.plans.size());
    for (const EventPlan& plan : input_.plans) {
      row.counts.push_back(CountOf(plan, amounts));
    }
    return row;
  }

  struct SegmentSum {
    SegmentAmounts amounts;
    DurationStatistics wall;
    Calls calls;
    SegmentUnseen unseen;
    std::optional<std::uint64_t> recording_ns;
    ProbesInCalls probes;
    std::map<int, std::uint64_t> errors;
    std::uint64_t moved_bytes = 0;
    bool inferred = false;
    // Parts of folded calls are missing: of their waiting and blocked time, of
    // the counts in dumps, of all times.
    bool waits_bounded = false, dumps_bounded = false, times_bounded = false;
    bool on_cpu_bounded = false;
  };

  // Sets the calls, then the quality of the complete row.
  void SetCalls(const ProcessState& process, const SegmentSum& sum,
                const SegmentUnseen& unseen, SegmentRow& row) const {
    const Calls& calls = sum.calls;
    row.calls = calls.all;
    row.begin_inferred = calls.begin_inferred;
    row.end_inferred = calls.end_inferred;
    bounds_.OfSegment(process, unseen, sum.wall, row);
    if (row.begin_inferred + row.end_inferred != 0) {
      Lower(Quality::kInferred, row);
    }
  }

  static void Lower(Quality quality, SegmentRow& row) {
    row.qualities.Add(quality);
    row.quality = Worse(row.quality, quality);
    row.on_cpu_quality = Worse(row.on_cpu_quality, quality);
    for (std::optional<SegmentCount>& count : row.counts) {
      if (count) count->quality = Worse(count->quality, quality);
    }
  }

  SegmentUnseen UnseenOf(const PathNode& node) const {
    SegmentUnseen unseen;
    unseen.own = node.unseen.Read();
    for (const PathNode::Child& child : node.children) {
      unseen.children.Add(child.node->unseen.Read());
    }
    if (node.certain != nullptr) unseen.certain = *node.certain;
    return unseen;
  }

  bool IsInKernel(std::uint32_t hook_id) const {
    const logformat::HookInfo* hook = input_.in.info.FindHook(hook_id);
    return hook != nullptr &&
           (hook->origin == logformat::HookOrigin::kKernel ||
            hook->origin == logformat::HookOrigin::kInterrupt);
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

  bool IsSystemCall(std::uint32_t hook_id) const {
    const logformat::HookInfo* hook = input_.in.info.FindHook(hook_id);
    return hook != nullptr && logformat::IsSystemCall(*hook);
  }
  void SetErrors(const ProcessState& process, std::uint32_t hook_id,
                 SegmentRow& row) const {
    if (!IsSystemCall(hook_id)) return;
    row.errors.emplace();
    const auto end = process.failed_calls.lower_bound({hook_id + 1, 0});
    for (auto calls = process.failed_calls.lower_bound({hook_id, 0});
         calls != end; ++calls) {
      (*row.errors)[calls->first.second] = calls->second;
    }
  }
  void SetErrors(const PathNode& node, SegmentRow& row) const {
    if (!IsSystemCall(node.hook_id)) return;
    if (!row.errors) row.errors.emplace();
    if (node.errors == nullptr) return;
    for (const auto& [error, calls] : *node.errors) {
      (*row.errors)[error] += calls;
    }
  }

  static std::uint64_t SortTime(const SegmentRow& row) {
    return row.on_cpu ? row.on_cpu->incl : 0;
  }
  static bool RowLess(const SegmentRow& a, const SegmentRow& b) {
    const std::uint64_t a_time = SortTime(a), b_time = SortTime(b);
    return std::tie(b_time, b.wall.incl, a.segment, a.pid, a.process) <
           std::tie(a_time, a.wall.incl, b.segment, b.pid, b.process);
  }

  void BuildSegmentsOf(const ProcessState& process) {
    if (process.paths->children.empty()) return;
    SumsByHook by_hook;
    most_calls_ = 0;
    if (process.hooks_lost || input_.in.session_loss) {
      ForEachNode(*process.paths,
                  [&](const PathNode& node) { most_calls_ += node.calls; });
    }
    const std::size_t begin = report_.segment_paths.size();
    Collect(process, *process.paths, {}, by_hook, report_.segment_paths);
    path_groups_.push_back({begin, report_.segment_paths.size()});
    AddFolded(*process.paths, by_hook);
    for (const auto& [hook_id, sum] : by_hook.all) {
      if (!IsRow(sum)) continue;
      SegmentRow row = SegmentRowOf(process, hook_id, sum);
      SetErrors(process, hook_id, row);
      if (!by_value_) report_.segments.push_back(std::move(row));
    }
    for (const auto& [key, sum] : by_hook.by_value) {
      const auto [hook_id, value] = key;
      if (!IsRow(sum)) continue;
      SegmentRow row = SegmentRowOf(process, hook_id, sum);
      if (IsSystemCall(hook_id)) {
        row.errors.emplace();
        for (const auto& [error, calls] : sum.errors) {
          (*row.errors)[error] = calls;
        }
      }
      SetValue(value, row);
      if (const FileCalls* files = values_->files()) {
        files_.Add(row, files->UseOf(hook_id), sum.moved_bytes);
      }
      if (by_value_) report_.segments.push_back(std::move(row));
    }
    // With thousands of processes, their rows need the memory.
    input_.in.paths.Release(*process.paths);
  }

  // The sums of a process.
  struct SumsByHook {
    std::map<std::uint32_t, SegmentSum> all;
    // By hook and value, if calls have values.
    std::map<std::pair<std::uint32_t, std::uint32_t>, SegmentSum> by_value;
  };

  // Else only its enter was recorded, and the recorder itself caused it.
  static bool IsRow(const SegmentSum& sum) {
    return sum.calls.all + sum.calls.begin_inferred != 0 ||
           sum.amounts.incl.wall_ns != 0;
  }

  // All but its errors.
  SegmentRow SegmentRowOf(const ProcessState& process, std::uint32_t hook_id,
                          const SegmentSum& sum) const {
    SegmentRow row = RowOf(process, sum.amounts, sum.wall);
    row.segment = HookName(input_.in.info, hook_id);
    row.hook_id = hook_id;
    SetRecording(sum.recording_ns, row);
    const logformat::HookInfo* hook = input_.in.info.FindHook(hook_id);
    if (sum.calls.end_inferred > sum.unseen.own.late_exits && hook != nullptr &&
        hook->origin == logformat::HookOrigin::kProgram) {
      row.location = hook->location;
    }
    SegmentUnseen unseen = sum.unseen;
    unseen.in_kernel = IsInKernel(hook_id);
    SetCalls(process, sum, unseen, row);
    LowerFolded(sum, row);
    if (sum.inferred) Lower(Quality::kInferred, row);
    if (sum.probes.any()) sum.probes.TakeOut(input_.plans, row);
    return row;
  }

  void SetValue(std::uint32_t value, SegmentRow& row) const {
    if (value != ValueTable::kNone) {
      row.grouped.argument = values_->table().TextOf(value);
    }
  }
  std::uint32_t ValueOf(const PathNode& node) const {
    return values_ == nullptr ? ValueTable::kNone
                              : values_->table().Settled(node.value);
  }
  // A call around it is of the same segment, with the same value.
  bool RecursiveWithValue(const PathNode& node) const {
    if (!node.recursive) return false;
    for (const PathNode* up = node.parent; up != nullptr; up = up->parent) {
      if (up->hook_id == node.hook_id && ValueOf(*up) == ValueOf(node)) {
        return true;
      }
    }
    return false;
  }

  void AddToSegments(const PathNode& node, SumsByHook& sums) const {
    AddToSegment(node, node.recursive, sums.all[node.hook_id]);
    if (values_ == nullptr || node.hook_id == PathNode::kFolded) return;
    AddToSegment(node, RecursiveWithValue(node),
                 sums.by_value[{node.hook_id, ValueOf(node)}]);
  }

  template <typename F>
  static void ForEachNode(PathNode& root, const F& f) {
    std::vector<PathNode*> pending = {&root};
    while (!pending.empty()) {
      PathNode& node = *pending.back();
      pending.pop_back();
      f(node);
      for (const PathNode::Child& child : node.children) {
        pending.push_back(child.node);
      }
    }
  }

  // Replaces the sum of the folding nodes by those of their segments.
  void AddFolded(const PathNode& root, SumsByHook& by_hook) const {
    if (root.folded == nullptr) return;
    const auto node = by_hook.all.extract(PathNode::kFolded);
    const bool waited =
        !node.empty() && node.mapped().amounts.excl.wait_ns +
                                 node.mapped().amounts.excl.blocked_ns !=
                             0;
    for (const auto& [hook_id, folded] : *root.folded) {
      AddFolded(hook_id, folded, waited, by_hook.all[hook_id]);
      // Their values are not known.
      if (values_ == nullptr) continue;
      AddFolded(hook_id, folded, waited,
                by_hook.by_value[{hook_id, ValueTable::kNone}]);
    }
  }
  void AddFolded(std::uint32_t hook_id, const FoldedCalls& folded, bool waited,
                 SegmentSum& sum) const {
    AddFoldedTimes(folded.incl, sum.amounts.incl);
    AddFoldedTimes(folded.excl, sum.amounts.excl);
    sum.wall.Merge(folded.wall);
    sum.calls.all += folded.calls;
    if (const auto* cost = input_.probes.OfHook(hook_id)) {
      sum.probes.AddFolded(*cost, folded.calls);
    }
    sum.calls.begin_inferred += folded.begin_inferred;
    sum.calls.end_inferred += folded.end_inferred;
    sum.dumps_bounded = true;
    sum.waits_bounded = waited;
    sum.times_bounded = folded.times_bounded;
    sum.on_cpu_bounded = !folded.on_cpu_exact;
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

  // Numbers that folded calls are missing in have no upper bound; exclusive
  // ones may be too large as well.
  void LowerFolded(const SegmentSum& sum, SegmentRow& row) const {
    if (sum.times_bounded) {
      for (Number number = Number::kWallIncl; number <= Number::kBlockedExcl;
           number = static_cast<Number>(static_cast<int>(number) + 1)) {
        row.bounds.Set(number, 0, Bounds());
      }
      Lower(Quality::kBounded, row);
    }
    if (sum.on_cpu_bounded && row.on_cpu) {
      for (Number number = Number::kOnCpuIncl; number <= Number::kOffCpuExcl;
           number = static_cast<Number>(static_cast<int>(number) + 1)) {
        row.bounds.Set(number, 0, Bounds());
      }
    }
    if (sum.waits_bounded) {
      for (const Number number : {Number::kWaitIncl, Number::kWaitExcl,
                                  Number::kBlockedIncl, Number::kBlockedExcl}) {
        row.bounds.Set(number, 0, Bounds());
      }
    }
    if (sum.waits_bounded || (sum.on_cpu_bounded && row.on_cpu)) {
      row.qualities.Add(Quality::kBounded);
      row.on_cpu_quality = Worse(row.on_cpu_quality, Quality::kBounded);
    }
    for (std::size_t i = 0; i < row.counts.size() && sum.dumps_bounded; ++i) {
      const SegmentSource source = input_.plans[i].source;
      const bool dumped = source == SegmentSource::kThreadDumps ||
                          source == SegmentSource::kKernelDumps;
      const bool by_records = sum.times_bounded || sum.on_cpu_bounded;
      if (!row.counts[i] || !(dumped || by_records)) continue;
      row.bounds.Set(CountNumber(i, CountPart::kIncl), 0, Bounds());
      row.bounds.Set(CountNumber(i, CountPart::kExcl), 0, Bounds());
      row.qualities.Add(Quality::kBounded);
      row.counts[i]->quality = Worse(row.counts[i]->quality, Quality::kBounded);
    }
  }

  // Adds the children of `node` in row order, each followed by its own
  // children.
  void Collect(const ProcessState& process, const PathNode& node,
               const std::vector<std::string>& path, SumsByHook& by_hook,
               std::vector<SegmentRow>& rows) {
    // An explicit stack, no recursion: a path can be as deep as the frame
    // limit.
    struct Visit {
      PathGroup group;
      SegmentRow row;
      bool in_left_call;  // an enclosing call was left unseen
    };
    std::vector<Visit> pending;
    const bool fold = input_.in.rows.fold_recursion;
    const auto push_children = [&](const PathGroup& parent,
                                   const std::vector<std::string>& prefix,
                                   bool in_left_call) {
      std::vector<Visit> children;
      // Calls with other values make one row, unless rows are by value.
      const bool join = values_ != nullptr && !by_value_;
      for (PathGroup& child : GroupsInside(parent, fold, join)) {
        SegmentRow row = PathRow(process, child, prefix);
        children.push_back({std::move(child), std::move(row), in_left_call});
        if (in_left_call) Lower(Quality::kInferred, children.back().row);
      }
      std::sort(
          children.begin(), children.end(),
          [](const Visit& a, const Visit& b) { return RowLess(b.row, a.row); });
      std::move(children.begin(), children.end(), std::back_inserter(pending));
    };
    push_children({{{&node, false}}}, path, /*in_left_call=*/false);
    while (!pending.empty()) {
      Visit visit = std::move(pending.back());
      pending.pop_back();
      bool called = false, left_unseen = false;
      for (const auto& [shown, inner] : visit.group.members) {
        AddToSegments(*shown, by_hook);
        called |= shown->calls + shown->begin_inferred != 0 ||
                  shown->wall_ns() != 0 || !shown->children.empty();
        left_unseen |= shown->left_unseen;
      }
      rows.push_back(std::move(visit.row));
      if (!called) {
        rows.pop_back();
        continue;
      }
      // A copy: adding rows may move the one that holds the path.
      const std::vector<std::string> prefix = rows.back().path;
      push_children(visit.group, prefix, visit.in_left_call || left_unseen);
    }
  }

  SegmentRow PathRow(const ProcessState& process, const PathGroup& group,
                     const std::vector<std::string>& prefix) const {
    SegmentSum sum;
    for (const auto& [node, inner] : group.members) {
      AddToSegment(*node, inner, sum);
    }
    SegmentRow row = RowOf(process, sum.amounts, sum.wall);
    row.segment = HookName(input_.in.info, group.hook_id());
    row.path = prefix;
    row.path.push_back(row.segment);
    for (const auto& [node, inner] : group.members) SetErrors(*node, row);
    if (by_value_) SetValue(ValueOf(*group.members.front().node), row);
    SetRecording(sum.recording_ns, row);
    SegmentUnseen unseen = sum.unseen;
    unseen.path = true;
    unseen.in_kernel = IsInKernel(group.hook_id());
    unseen.most_calls = most_calls_;
    SetCalls(process, sum, unseen, row);
    if (sum.inferred) Lower(Quality::kInferred, row);
    if (sum.probes.any()) sum.probes.TakeOut(input_.plans, row);
    return row;
  }

  // `inner`: its time is inside that of other calls of the sum.
  void AddToSegment(const PathNode& node, bool inner, SegmentSum& sum) const {
    AddAmounts(AmountsOf(node), inner, sum.amounts);
    const auto recording_ns = input_.cost.InSegment(node);
    if (recording_ns && !inner) {
      sum.recording_ns = sum.recording_ns.value_or(0) + *recording_ns;
    }
    sum.wall.Merge(node.wall);
    sum.calls.all += node.calls;
    sum.calls.begin_inferred += node.begin_inferred;
    sum.calls.end_inferred += node.end_inferred;
    const SegmentUnseen unseen = UnseenOf(node);
    sum.unseen.own.Add(unseen.own);
    sum.unseen.children.Add(unseen.children);
    sum.unseen.certain.calls += unseen.certain.calls;
    sum.unseen.certain.wall_ns += inner ? 0 : unseen.certain.wall_ns;
    sum.unseen.certain.on_cpu_ns += inner ? 0 : unseen.certain.on_cpu_ns;
    sum.inferred |= HoldsLeftCalls(node);
    sum.moved_bytes += node.moved_bytes;
    if (values_ != nullptr && node.errors != nullptr) {
      for (const auto& [error, calls] : *node.errors) {
        sum.errors[error] += calls;
      }
    }
    if (const auto* probes = input_.probes.InPath(node)) {
      sum.probes.AddPath(*probes, inner);
    }
  }

  // Rows of one process.
  struct PathGroupRows {
    std::size_t begin, end;
    std::uint64_t on_cpu_ns = 0, wall_ns = 0;
  };

  // Sorts processes by their time in segments and keeps each tree together. In
  // place: there may be a million rows.
  void SortPathGroups() {
    std::vector<SegmentRow>& rows = report_.segment_paths;
    for (PathGroupRows& group : path_groups_) {
      for (std::size_t i = group.begin; i < group.end; ++i) {
        if (rows[i].path.size() != 1) continue;
        group.on_cpu_ns += SortTime(rows[i]);
        group.wall_ns += rows[i].wall.incl;
      }
    }
    std::stable_sort(path_groups_.begin(), path_groups_.end(),
                     [](const PathGroupRows& a, const PathGroupRows& b) {
                       return std::tie(b.on_cpu_ns, b.wall_ns) <
                              std::tie(a.on_cpu_ns, a.wall_ns);
                     });
    std::vector<std::size_t> from;  // where the row at each place comes from
    from.reserve(rows.size());
    for (const PathGroupRows& group : path_groups_) {
      for (std::size_t i = group.begin; i < group.end; ++i) from.push_back(i);
    }
    for (std::size_t first = 0; first < from.size(); ++first) {
      if (from[first] == first) continue;
      SegmentRow row = std::move(rows[first]);
      std::size_t to = first;
      while (from[to] != first) {
        const std::size_t next = std::exchange(from[to], to);
        rows[to] = std::move(rows[next]);
        to = next;
      }
      rows[to] = std::move(row);
      from[to] = to;
    }
  }

  const TableInput& input_;
  const CallValues* const values_;  // null: no call has one
  const bool by_value_;             // rows are
  const UnseenBounds& bounds_;
  Report& report_;
  FileRows files_;
  std::vector<PathGroupRows> path_groups_;
  std::uint64_t most_calls_ = 0;  // of the process at hand, after lost hooks
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
  for (std::size_t i = 0; i < input.plans.size(); ++i) {
    report.events[i].segment_source = input.plans[i].source;
  }
}

void BuildSegments(const TableInput& input, const UnseenBounds& bounds,
                   Report& report) {
  SegmentRows(input, bounds, report).Build();
}

}  // namespace countrace::rmap
