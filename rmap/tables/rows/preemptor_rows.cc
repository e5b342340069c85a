#include "rmap/tables/rows/preemptor_rows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rmap/dispatch/queue_time.h"
#include "rmap/result/limits.h"
#include "rmap/tables/input/row_owner.h"

namespace countrace::rmap {
namespace {

constexpr std::uint64_t kNone = Bounds::kNone;

// The waiting time of an owner that may be of any of its rows.
struct Slack {
  std::uint64_t unsure_ns = 0, not_known_ns = 0;
  std::uint64_t more_ns = 0;  // that the rows of threads lack
  std::uint64_t wait_ns = 0;

  std::uint64_t OfOthers(std::uint64_t own_ns) const {
    return AddBounded(unsure_ns + not_known_ns - own_ns, more_ns);
  }
};

struct Joined {
  RowOwner owner, by;
  QueueTime::Sum sum;
};

bool RowLess(const PreemptorRow& a, const PreemptorRow& b) {
  return std::tie(b.wait_ns, b.times, a.comm, a.pid, a.tid, a.preemptor.kind,
                  a.preemptor.comm, a.preemptor.pid, a.preemptor.tid) <
         std::tie(a.wait_ns, a.times, b.comm, b.pid, b.tid, b.preemptor.kind,
                  b.preemptor.comm, b.preemptor.pid, b.preemptor.tid);
}

// Empty: it is not known.
std::string CgroupOf(ProcessIndex process, const Report& report) {
  const auto row = std::find_if(
      report.processes.begin(), report.processes.end(),
      [process](const ProcessRow& one) { return one.index == process; });
  return row == report.processes.end() || row->cgroup == kUnknownOwner
             ? std::string()
             : row->cgroup;
}

struct Losses {
  bool none = true;
  bool late = false;  // noticed at the end only, so that no part is sure
};

void SetBounds(const QueueTime::Sum& sum, const Slack& slack,
               const Losses& losses, PreemptorRow& row) {
  const bool late = losses.late;
  const bool known = row.preemptor.kind != PreemptorKind::kNotKnown;
  const std::uint64_t own_ns = late    ? row.wait_ns
                               : known ? sum.unsure_ns
                                       : slack.not_known_ns;
  const std::uint64_t others_ns =
      late ? AddBounded(slack.wait_ns - row.wait_ns, slack.more_ns)
           : slack.OfOthers(own_ns);
  // In a trace that lacks nothing, no record of it exists.
  if (!known && losses.none) return;
  if (own_ns == 0 && others_ns == 0) return;
  const Bounds wait = Around(row.wait_ns, own_ns, others_ns);
  row.bounds.Set(Number::kWait, row.wait_ns, wait);
  // Two stays with a gap between them may be one.
  const bool any_sure = !late && known && sum.times > sum.unsure_times;
  row.bounds.Set(Number::kTimes, row.times, {any_sure ? 1u : 0u, kNone});
  row.bounds.Set(
      Number::kLongest, row.longest_ns,
      {any_sure ? std::min(sum.longest_sure_ns, row.longest_ns) : 0, wait.hi});
  row.qualities.Add(Quality::kBounded);
  row.quality = row.qualities.Worst();
}

}  // namespace

void BuildPreemptors(const TableSources& sources, Report& report) {
  if (!sources.rows.preemptors) return;
  const RowsOf of = sources.rows.preemptors_of;
  std::map<ThreadIndex, const ThreadState*> threads;
  for (const ThreadState& thread : sources.registry.threads()) {
    threads[thread.index] = &thread;
  }
  std::map<RowOwner::Key, Slack> slacks;
  bool more_threads = false;
  for (const ProcessRow& row : report.processes) {
    more_threads |= row.bounds.Of(Number::kThreads).has_value();
  }
  for (const ThreadRow& row : report.threads) {
    const ThreadState& thread = *threads[row.index];
    Slack& slack = slacks[RowOwner(of, *thread.process, &thread).key];
    slack.wait_ns += row.wait_ns.value_or(0);
    if (const auto bounds = row.bounds.Of(Number::kWait)) {
      slack.more_ns = AddBounded(
          slack.more_ns,
          bounds->hi == kNone ? kNone : bounds->hi - row.wait_ns.value_or(0));
    }
    // Threads without a row may have waited, too.
    if (more_threads && of != RowsOf::kThread) slack.more_ns = kNone;
  }
  using Place = std::tuple<RowOwner::Key, PreemptorKind, RowOwner::Key>;
  std::map<Place, Joined> rows;
  for (const auto& [key, sum] : sources.dispatches.queues().sums()) {
    const RowOwner owner(of, *key.thread->process, key.thread);
    const auto slack = slacks.find(owner.key);
    if (slack == slacks.end()) continue;  // its thread has no row
    const RowOwner by =
        key.by == nullptr ? RowOwner() : RowOwner(of, *key.by->process, key.by);
    Joined& joined = rows[{owner.key, key.kind, by.key}];
    joined.owner = owner;
    joined.by = by;
    joined.sum.times += sum.times;
    joined.sum.ns += sum.ns;
    joined.sum.longest_ns = std::max(joined.sum.longest_ns, sum.longest_ns);
    joined.sum.unsure_times += sum.unsure_times;
    joined.sum.unsure_ns += sum.unsure_ns;
    joined.sum.longest_sure_ns =
        std::max(joined.sum.longest_sure_ns, sum.longest_sure_ns);
    if (key.kind == PreemptorKind::kNotKnown) {
      slack->second.not_known_ns += sum.ns;
    } else {
      slack->second.unsure_ns += sum.unsure_ns;
    }
  }
  const Losses losses{sources.dispatches.unseen().none(),
                      sources.dispatches.cut_ns() != 0};
  for (const auto& [place, joined] : rows) {
    PreemptorRow row;
    row.process = joined.owner.process;
    row.pid = joined.owner.pid;
    row.tid = joined.owner.tid;
    row.comm = joined.owner.comm;
    row.preemptor.kind = std::get<PreemptorKind>(place);
    if (joined.by.pid != 0) row.preemptor.pid = joined.by.pid;
    if (joined.by.tid != 0) row.preemptor.tid = joined.by.tid;
    row.preemptor.comm = joined.by.comm;
    if (row.preemptor.kind == PreemptorKind::kThrottled) {
      row.preemptor.comm = CgroupOf(row.process, report);
    }
    row.times = joined.sum.times;
    row.wait_ns = joined.sum.ns;
    row.longest_ns = joined.sum.longest_ns;
    SetBounds(joined.sum, slacks[joined.owner.key], losses, row);
    report.preemptors.push_back(std::move(row));
  }
  std::sort(report.preemptors.begin(), report.preemptors.end(), RowLess);
}

}  // namespace countrace::rmap
