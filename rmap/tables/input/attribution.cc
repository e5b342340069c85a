#include "rmap/tables/input/attribution.h"

#include <algorithm>
#include <cmath>

#include "logformat/perf_event_names.h"
#include "rmap/result/limits.h"

namespace countrace::rmap {

namespace {

// Exact names only: `page-faults:u` counts less than the records show.
bool IsSwitches(const std::string& event) {
  return event == "context-switches" || event == "cs";
}

std::optional<double> Sum(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

// Satterthwaite's degrees of freedom.
double Freedom(const DumpSum& sum) {
  if (!sum.variance || sum.quartic <= 0) return 1;
  return std::max(1.0, *sum.variance * *sum.variance / sum.quartic);
}

// 0: not an estimate.
std::uint64_t LeastSlices(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// One cut call in this many does not matter.
constexpr std::uint64_t kManyCut = 100;

// Scales the sum over the counted calls to all calls, if event sets are
// multiplexed.
DumpSum Estimated(const PathNode& node, std::size_t dump) {
  DumpSum sum = node.dumps[dump];
  sum.counted = sum.incl;
  if (sum.scaling == DumpSum::Scaling::kNone) return sum;
  const bool by_time = sum.scaling == DumpSum::Scaling::kByTime;
  const CallSlices slices = sum.Calls(node.wall.count());
  const auto scaled =
      by_time ? slices.earlier.Estimate(node.on_cpu_ns) : EstimateCalls(slices);
  if (!scaled) return sum;
  sum.incl = scaled->value;
  sum.slices = scaled->slices;
  sum.running = scaled->running;
  sum.enabled = scaled->enabled;
  sum.of_unseen = scaled->of_unseen;
  sum.quality = Worse(sum.quality, Quality::kScaled);
  // The cut calls are the long ones: without them the estimate is too low.
  if (sum.cut_calls() > node.wall.count() / kManyCut) {
    sum.quality = Worse(sum.quality, Quality::kBounded);
  }
  sum.variance = std::nullopt;
  if (scaled->standard_error) {
    sum.variance = *scaled->standard_error * *scaled->standard_error;
    sum.quartic = *sum.variance * *sum.variance / scaled->freedom;
  }
  return sum;
}

void SubtractChild(const PathNode& child, SegmentSums& excl) {
  excl.wall_ns = Less(excl.wall_ns, child.wall_ns());
  excl.on_cpu_ns = Less(excl.on_cpu_ns, child.on_cpu_ns);
  excl.switches = Less(excl.switches, child.switches);
  excl.faults = Less(excl.faults, child.faults);
  excl.wait_ns = Less(excl.wait_ns, child.wait_ns);
  excl.blocked_ns = Less(excl.blocked_ns, child.blocked_ns);
  for (std::size_t i = 0; i < excl.dumps.size(); ++i) {
    DumpSum& sum = excl.dumps[i];
    const DumpSum inner = Estimated(child, i);
    sum.incl = Less(sum.incl, inner.incl);
    sum.variance = Sum(sum.variance, inner.variance);
    sum.quartic += inner.quartic;
    sum.slices = LeastSlices(sum.slices, inner.slices);
    // Uncounted calls of the child remain in the difference.
    sum.quality = Worse(sum.quality, inner.quality);
  }
}

void AddSums(const SegmentSums& from, SegmentSums& to) {
  to.wall_ns += from.wall_ns;
  to.on_cpu_ns += from.on_cpu_ns;
  to.switches += from.switches;
  to.faults += from.faults;
  to.wait_ns += from.wait_ns;
  to.blocked_ns += from.blocked_ns;
  to.dumps.resize(std::max(to.dumps.size(), from.dumps.size()));
  for (std::size_t i = 0; i < from.dumps.size(); ++i) {
    to.dumps[i].incl += from.dumps[i].incl;
    to.dumps[i].counted += from.dumps[i].counted;
    to.dumps[i].running += from.dumps[i].running;
    to.dumps[i].enabled += from.dumps[i].enabled;
    to.dumps[i].variance = Sum(to.dumps[i].variance, from.dumps[i].variance);
    to.dumps[i].quartic += from.dumps[i].quartic;
    to.dumps[i].of_unseen |= from.dumps[i].of_unseen;
    to.dumps[i].slices = LeastSlices(to.dumps[i].slices, from.dumps[i].slices);
    if (from.dumps[i].scaling != DumpSum::Scaling::kNone) {
      to.dumps[i].scaling = from.dumps[i].scaling;
    }
    to.dumps[i].any_value |= from.dumps[i].any_value;
    to.dumps[i].quality = Worse(to.dumps[i].quality, from.dumps[i].quality);
  }
}

}  // namespace

bool IsOnCpuTime(const std::string& event) {
  return event == "task-clock" || event == "cpu-clock";
}

bool IsPageFaults(const std::string& event) {
  return event == "page-faults" || event == "faults";
}

std::vector<EventPlan> PlanEvents(const logformat::TraceInfo& info) {
  std::vector<EventPlan> plans;
  const std::size_t cpu_events =
      std::min(info.cpu_events.size(), logformat::kMaxEvents);
  const std::size_t thread_events =
      std::min(info.thread_events.size(), logformat::kMaxCounters);
  for (std::size_t i = 0; i < cpu_events; ++i) {
    plans.push_back(
        {info.cpu_events[i], i, std::nullopt, SegmentSource::kNone});
  }
  for (std::size_t i = 0; i < thread_events; ++i) {
    const auto same =
        std::find_if(plans.begin(), plans.end(), [&](const EventPlan& plan) {
          return plan.name == info.thread_events[i] && !plan.thread_event;
        });
    if (same != plans.end()) {
      same->thread_event = i;
    } else {
      plans.push_back(
          {info.thread_events[i], std::nullopt, i, SegmentSource::kNone});
    }
  }
  return plans;
}

void ChooseSources(const KernelFacts& facts, std::vector<EventPlan>& plans) {
  for (EventPlan& plan : plans) {
    // The scheduler updates it at switches and ticks, not at hooks.
    if (plan.name == logformat::kExecRuntimeEvent) continue;
    if (facts.dispatches && IsOnCpuTime(plan.name)) {
      plan.source = SegmentSource::kOnCpuTime;
    } else if (facts.dispatches && IsSwitches(plan.name)) {
      plan.source = SegmentSource::kSwitches;
    } else if (IsPageFaults(plan.name) &&
               (facts.fault_records || (facts.dispatches && plan.cpu_event &&
                                        facts.counted_faults == 0))) {
      plan.source = SegmentSource::kFaults;
    } else if (plan.thread_event) {
      plan.source = SegmentSource::kThreadDumps;
      plan.dump = *plan.thread_event;
    } else if (plan.cpu_event && facts.kernel_dumps) {
      plan.source = SegmentSource::kKernelDumps;
      plan.dump = facts.thread_events + *plan.cpu_event;
    }
  }
}

SegmentAmounts AmountsOf(const PathNode& node) {
  SegmentAmounts amounts;
  amounts.incl = {node.wall_ns(), node.on_cpu_ns,  node.switches, node.faults,
                  node.wait_ns,   node.blocked_ns, node.dumps};
  for (std::size_t i = 0; i < node.dumps.size(); ++i) {
    amounts.incl.dumps[i] = Estimated(node, i);
  }
  amounts.excl = amounts.incl;
  for (const PathNode::Child& child : node.children) {
    SubtractChild(*child.node, amounts.excl);
  }
  return amounts;
}

void AddAmounts(const SegmentAmounts& from, bool recursive,
                SegmentAmounts& to) {
  if (!recursive) AddSums(from.incl, to.incl);
  AddSums(from.excl, to.excl);
}

std::optional<SegmentCount> CountOf(const EventPlan& plan,
                                    const SegmentAmounts& amounts) {
  const SegmentSums& incl = amounts.incl;
  const SegmentSums& excl = amounts.excl;
  switch (plan.source) {
    case SegmentSource::kNone:
      return std::nullopt;
    case SegmentSource::kOnCpuTime:
      return SegmentCount{incl.on_cpu_ns, excl.on_cpu_ns};
    case SegmentSource::kSwitches:
      return SegmentCount{incl.switches, excl.switches};
    case SegmentSource::kFaults:
      return SegmentCount{incl.faults, excl.faults};
    case SegmentSource::kThreadDumps:
    case SegmentSource::kKernelDumps: {
      if (plan.dump >= incl.dumps.size()) return std::nullopt;
      const DumpSum& sum = incl.dumps[plan.dump];
      const DumpSum& rest = excl.dumps[plan.dump];
      if (!sum.any_value) return std::nullopt;
      SegmentCount count{sum.incl, rest.incl, Worse(sum.quality, rest.quality)};
      if (sum.scaling != DumpSum::Scaling::kNone) {
        SegmentEstimate& estimate = count.estimate.Write();
        estimate.counted = sum.counted;
        estimate.running = sum.running;
        estimate.enabled = sum.enabled;
        estimate.freedom = Freedom(sum);
        estimate.excl_freedom = Freedom(rest);
        estimate.of_unseen = sum.of_unseen;
        if (sum.variance) estimate.standard_error = std::sqrt(*sum.variance);
        if (rest.variance) {
          estimate.excl_standard_error = std::sqrt(*rest.variance);
        }
        estimate.slices = LeastSlices(sum.slices, rest.slices);
      }
      return count;
    }
  }
  return std::nullopt;
}

}  // namespace countrace::rmap
