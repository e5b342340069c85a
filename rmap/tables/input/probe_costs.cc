#include "rmap/tables/input/probe_costs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "rmap/result/limits.h"

namespace countrace::rmap {
namespace {

using logformat::ProbeCost;

// Below this many times its probes' cost, a time is not known from below.
constexpr std::uint64_t kSureTimes = 3;

// Without a wrap: a damaged trace can hold any number.
std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return product > Bounds::kNone ? Bounds::kNone
                                 : static_cast<std::uint64_t>(product);
}

void AddTo(ProbeTime& sum, const ProbeTime& more) {
  sum.ns = AddBounded(sum.ns, more.ns);
  sum.lo_ns = AddBounded(sum.lo_ns, more.lo_ns);
  sum.hi_ns = AddBounded(sum.hi_ns, more.hi_ns);
}

ProbeTime CostOf(const ProbeCost::Range& range, std::uint64_t times) {
  return {Times(range.ns, times), Times(range.lo, times),
          Times(range.hi, times)};
}

ProbeTime AtMost(ProbeTime time, std::uint64_t most_ns) {
  time.ns = std::min(time.ns, most_ns);
  time.lo_ns = std::min(time.lo_ns, time.ns);
  return time;
}

// `value`, which may lie in `before`, without `cost`. The thread waited for a
// CPU for `wait_ns` of it, and may have been preempted in a trap. A call that
// waits for a time hides the cost in its wait: without probes it takes as long.
struct Remainder {
  std::uint64_t value;
  Bounds bounds;
};
Remainder Without(std::uint64_t value, const std::optional<Bounds>& before,
                  const ProbeTime& cost, std::uint64_t wait_ns) {
  const Bounds old = before.value_or(Bounds{value, value});
  Remainder rest;
  rest.value = Less(value, cost.ns);
  rest.bounds.hi = old.hi;
  // A wait makes no short call long.
  rest.bounds.lo = Less(rest.value, wait_ns) < Times(kSureTimes, cost.ns)
                       ? 0
                       : Less(old.lo, AddBounded(cost.hi_ns, wait_ns));
  rest.bounds.lo = std::min(rest.bounds.lo, rest.value);
  rest.bounds.hi = std::max(rest.bounds.hi, rest.value);
  // A row has an entry for each number that is not exact.
  if (rest.bounds.hi == rest.bounds.lo) ++rest.bounds.hi;
  return rest;
}

void TakeFrom(std::uint64_t& value, Number number, const ProbeTime& cost,
              SegmentRow& row, std::uint64_t wait_ns = 0) {
  const Remainder rest = Without(value, row.bounds.Of(number), cost, wait_ns);
  value = rest.value;
  row.bounds.Set(number, value, rest.bounds);
}

// The part of one of `calls`, rounded so that the limits hold.
ProbeTime Each(const ProbeTime& sum, std::uint64_t calls) {
  if (calls == 0) return {};
  return {sum.ns / calls, sum.lo_ns / calls,
          sum.hi_ns == Bounds::kNone
              ? sum.hi_ns
              : sum.hi_ns / calls + (sum.hi_ns % calls != 0 ? 1 : 0)};
}

// Events of user mode alone count next to nothing of a trap.
bool CountsTraps(const std::string& event) {
  return logformat::ModeOfEvent(event).kernel;
}

// A call is not shorter than what its probes took: if one is, the machine was
// slower when the cost was measured.
ProbeCost::Range InShortest(ProbeCost::Range inside, const PathNode& node) {
  if (node.calls == 0 || node.end_inferred != 0) return inside;
  TimeStatistics wall;
  node.wall.Fill(wall);
  const auto most = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(wall.min, ProbeCost::kUnknown));
  inside.ns = std::min(inside.ns, most);
  inside.lo = std::min(inside.lo, most);
  return inside;
}

}  // namespace

void ProbesInCalls::AddOwn(const ProbeCost::Range& inside, std::uint64_t calls,
                           std::uint64_t whole_calls) {
  ProbeTime own = CostOf(inside, calls);
  // A call without an exit may lack the cost of it.
  own.lo_ns = Times(inside.lo, whole_calls);
  own_ = CostOf(inside, 1);
  if (whole_calls != calls) own_.lo_ns = 0;
  AddTo(excl_, own);
}

void ProbesInCalls::AddInner(const ProbeCost::Range& outside,
                             std::uint64_t times) {
  if (times == 0) return;
  inner_ = true;
  AddTo(excl_, CostOf(outside, times));
}

void ProbesInCalls::Cap(std::uint64_t most_ns) {
  excl_ = AtMost(excl_, most_ns);
  AddTo(incl_, excl_);
  each_ = incl_;
}

void ProbesInCalls::AddChild(const ProbesInCalls& child) {
  if (!child.any()) return;
  inner_ = true;
  AddTo(incl_, child.incl_);
  each_ = incl_;
}

void ProbesInCalls::AddPath(const ProbesInCalls& path, bool recursive) {
  if (!recursive) AddTo(incl_, path.incl_);
  AddTo(excl_, path.excl_);
  AddTo(each_, path.each_);
  // All paths of one hook have the same, unless exits are missing.
  const bool first = own_.hi_ns == 0;
  own_ = {path.own_.ns,
          first ? path.own_.lo_ns : std::min(own_.lo_ns, path.own_.lo_ns),
          path.own_.hi_ns};
  inner_ |= path.inner_;
}

void ProbesInCalls::AddFolded(const ProbeCost& cost, std::uint64_t calls) {
  ProbeTime folded = CostOf(cost.inside, calls);
  // What is inside them is not known.
  folded.lo_ns = 0;
  folded.hi_ns = Bounds::kNone;
  own_ = CostOf(cost.inside, 1);
  inner_ = true;
  AddTo(incl_, folded);
  AddTo(excl_, folded);
  AddTo(each_, folded);
}

void ProbesInCalls::TakeOut(const std::vector<EventPlan>& plans,
                            SegmentRow& row) const {
  // A trap is time on the CPU.
  const std::uint64_t wall_ns = row.wall.incl;
  const ProbeTime incl = AtMost(incl_, row.on_cpu ? row.on_cpu->incl : wall_ns);
  const ProbeTime excl =
      AtMost(excl_, row.on_cpu ? row.on_cpu->excl : row.wall.excl);
  row.probes = incl;
  const std::uint64_t wait_ns = row.wait ? row.wait->incl : 0;
  TakeFrom(row.wall.incl, Number::kWallIncl, incl, row, wait_ns);
  TakeFrom(row.wall.excl, Number::kWallExcl, excl, row, wait_ns);
  if (row.on_cpu) {
    TakeFrom(row.on_cpu->incl, Number::kOnCpuIncl, incl, row);
    TakeFrom(row.on_cpu->excl, Number::kOnCpuExcl, excl, row);
  }

  // --- one call --------------------------------------------------------------
  const ProbeTime each = Each(each_, row.calls);
  auto mean = static_cast<std::uint64_t>(std::llround(row.wall.mean));
  const std::uint64_t wait_each =
      row.calls == 0 ? 0 : wait_ns / row.calls + (wait_ns % row.calls != 0);
  TakeFrom(mean, Number::kWallMean, each, row, wait_each);
  row.wall.mean = std::max(0.0, row.wall.mean - static_cast<double>(each.ns));
  // Which calls had probes inside is not known: one may have had its own two
  // alone, or nearly all of the others'.
  ProbeTime one = own_;
  if (inner_) one = {std::max(own_.ns, each.ns), own_.lo_ns, Bounds::kNone};
  for (const auto& [number, value] :
       {std::pair(Number::kWallMin, &row.wall.min),
        std::pair(Number::kWallMax, &row.wall.max),
        std::pair(Number::kWallP50, &row.wall.p50),
        std::pair(Number::kWallP90, &row.wall.p90),
        std::pair(Number::kWallP99, &row.wall.p99)}) {
    TakeFrom(*value, number, one, row, wait_ns);
  }
  if (row.calls > 1) {
    // No two calls differ by more.
    const auto stddev =
        static_cast<std::uint64_t>(std::llround(row.wall.stddev));
    const auto before = row.bounds.Of(Number::kWallStddev);
    const std::uint64_t most_ns = AddBounded(one.hi_ns, wait_ns);
    const std::uint64_t spread =
        inner_ ? Bounds::kNone : AddBounded(stddev, Less(most_ns, one.lo_ns));
    row.bounds.Set(Number::kWallStddev, stddev,
                   {0, before ? std::max(before->hi, spread) : spread});
  }

  // --- counts ----------------------------------------------------------------
  for (std::size_t i = 0; i < plans.size() && i < row.counts.size(); ++i) {
    std::optional<SegmentCount>& count = row.counts[i];
    if (!count) continue;
    const Number of_incl = CountNumber(i, CountPart::kIncl);
    const Number of_excl = CountNumber(i, CountPart::kExcl);
    switch (plans[i].source) {
      case SegmentSource::kNone:
      case SegmentSource::kSwitches:
      case SegmentSource::kFaults:
        continue;
      case SegmentSource::kOnCpuTime:
        TakeFrom(count->incl, of_incl, incl, row);
        TakeFrom(count->excl, of_excl, excl, row);
        break;
      case SegmentSource::kThreadDumps:
      case SegmentSource::kKernelDumps:
        // The traps' share was not measured.
        if (!CountsTraps(plans[i].name)) continue;
        for (const auto& [number, value] : {std::pair(of_incl, count->incl),
                                            std::pair(of_excl, count->excl)}) {
          const auto before = row.bounds.Of(number);
          row.bounds.Set(number, value, {0, before ? before->hi : value});
        }
        break;
    }
    count->quality = Worse(count->quality, Quality::kBounded);
  }
  row.quality = Worse(row.quality, Quality::kBounded);
  row.on_cpu_quality = Worse(row.on_cpu_quality, Quality::kBounded);
  row.qualities.Add(Quality::kBounded);
}

ProbeCosts::ProbeCosts(const logformat::TraceInfo& info, bool has_dispatches,
                       ThreadRegistry& registry) {
  for (const logformat::HookInfo& hook : info.hooks) {
    if (hook.probe_cost) hooks_.emplace(hook.id, *hook.probe_cost);
  }
  if (hooks_.empty()) return;
  for (const ProcessState& process : registry.processes()) {
    const InsideByHook shortest = AddPaths(*process.paths, has_dispatches);
    for (const auto& [id, cost] : hooks_) {
      const std::size_t index = id - logformat::kHookIdKernelMin;
      if (id < logformat::kHookIdKernelMin ||
          index >= process.kernel_hook_hits.size()) {
        continue;
      }
      const std::uint64_t hits = process.kernel_hook_hits[index];
      if (hits == 0) continue;
      const logformat::HookInfo* hook = info.FindHook(id);
      const bool segment = hook->kind == logformat::HookKind::kSegment;
      // Both records of a call are hits.
      const std::uint64_t calls = segment ? (hits + 1) / 2 : hits;
      ProbeTime time = CostOf(cost.outside, calls);
      const auto inside = shortest.find(id);
      AddTo(time,
            CostOf(inside == shortest.end() ? cost.inside : inside->second,
                   segment ? calls : 0));
      AddTo(processes_[&process], time);
    }
  }
}

ProbeCosts::InsideByHook ProbeCosts::AddPaths(const PathNode& root,
                                              bool has_dispatches) {
  InsideByHook shortest;
  // Parents before their children.
  std::vector<const PathNode*> nodes = {&root};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const PathNode::Child& child : nodes[i]->children) {
      nodes.push_back(child.node);
    }
  }
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    const PathNode& node = **at;
    if (node.parent == nullptr) continue;
    ProbesInCalls sum;
    if (const ProbeCost* const own = OfHook(node.hook_id)) {
      const ProbeCost::Range inside = InShortest(own->inside, node);
      ProbeCost::Range& least =
          shortest.try_emplace(node.hook_id, inside).first->second;
      if (inside.ns < least.ns) least = inside;
      sum.AddOwn(inside, node.calls, Less(node.calls, node.end_inferred));
    }
    if (node.points != nullptr) {
      for (const auto& [id, hits] : *node.points) {
        if (const auto* point = OfHook(id)) sum.AddInner(point->outside, hits);
      }
    }
    for (const PathNode::Child& child : node.children) {
      const ProbeCost* const cost = OfHook(child.node->hook_id);
      if (cost != nullptr) sum.AddInner(cost->outside, child.node->calls);
    }
    const SegmentAmounts amounts = AmountsOf(node);
    sum.Cap(has_dispatches ? amounts.excl.on_cpu_ns : amounts.excl.wall_ns);
    for (const PathNode::Child& child : node.children) {
      const auto inside = paths_.find(child.node);
      if (inside != paths_.end()) sum.AddChild(inside->second);
    }
    if (sum.any()) paths_.emplace(&node, sum);
  }
  return shortest;
}

const ProbesInCalls* ProbeCosts::InPath(const PathNode& node) const {
  const auto found = paths_.find(&node);
  return found == paths_.end() ? nullptr : &found->second;
}

const ProbeCost* ProbeCosts::OfHook(std::uint32_t hook_id) const {
  const auto found = hooks_.find(hook_id);
  return found == hooks_.end() ? nullptr : &found->second;
}

std::optional<ProbeTime> ProbeCosts::OfProcess(
    const ProcessState& process) const {
  const auto found = processes_.find(&process);
  if (found == processes_.end()) return std::nullopt;
  return found->second;
}

}  // namespace countrace::rmap
