#include "rmap/tables/rows/task_rows.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "rmap/result/limits.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap {

namespace {

// False for a process that was never counted, not even for a while.
bool HasRow(const ProcessState& process) {
  return process.counted ||
         std::any_of(process.threads.begin(), process.threads.end(),
                     [](const ThreadState* thread) {
                       return thread->dispatch.dispatches != 0 ||
                              thread->dispatch.on_cpu_ns != 0 ||
                              thread->hooks.last_ns != 0;
                     });
}

// The process's slices; the threads' slices for an event that was counted
// before their process was known.
EventSlices SlicesOf(const ProcessState& process) {
  EventSlices sum;
  for (const ThreadState* thread : process.threads) {
    for (const auto& [event, slices] : thread->kernel.slices.entries()) {
      sum.At(event).Merge(slices);
    }
  }
  for (const auto& [event, slices] : process.slices.entries()) {
    const SliceSums* const threads = sum.Find(event);
    if (threads != nullptr && slices.running() == threads->running()) {
      sum.At(event) = slices;
    }
  }
  return sum;
}

void NameOwner(const ProcessOwner& owner, const logformat::TraceInfo& info,
               ProcessRow& row) {
  row.uid = owner.uid;
  row.own_pid = owner.own_pid;
  row.host_pid = owner.host_pid;
  row.user = row.cgroup = kUnknownOwner;
  if (owner.uid) {
    const auto name = info.users.find(*owner.uid);
    row.user =
        name != info.users.end() ? name->second : std::to_string(*owner.uid);
  }
  if (owner.cgroup == 0) return;
  const auto path = info.cgroups.find(owner.cgroup);
  // It was gone when the recorder looked it up.
  row.cgroup = path != info.cgroups.end() && !path->second.empty()
                   ? path->second
                   : "[cgroup " + std::to_string(owner.cgroup) + "]";
}

}  // namespace

void BuildThreads(const TableInput& input, const UnseenBounds& bounds,
                  Report& report) {
  for (const ThreadState& thread : input.in.registry.threads()) {
    // Expected by the session, without a record; or before the tables.
    if (thread.announced || thread.ended_before) continue;
    if (!HasRow(*thread.process)) continue;
    ThreadRow row;
    row.index = thread.index;
    row.process = thread.process->index;
    row.tid = thread.tid;
    row.pid = thread.process->pid;
    row.comm = thread.comm.empty() ? thread.process->comm : thread.comm;
    row.first_seen_ns = thread.first_seen_ns;
    row.last_seen_ns = thread.last_seen_ns;
    row.counts.resize(input.plans.size());
    // A thread with hook records ran. If no kernel record shows it, its time
    // is unknown, not 0; but not if it left its CPU before the range. A wake-up
    // shows since when it waits.
    const bool on_no_cpu = thread.IsOnNoCpu() && !thread.blocked.left_cpu;
    if (input.has_kernel &&
        (!on_no_cpu || thread.blocked.known_from_ns != BlockedState::kNever)) {
      row.wait_ns = thread.dispatch.wait_ns;
      if (input.in.dispatches.saw_throttled())
        row.throttled_ns = thread.dispatch.throttled_ns;
      if (input.in.dispatches.blocked().saw_wakeup())
        row.blocked_ns = thread.blocked.total_ns;
    }
    if (input.has_kernel && !on_no_cpu) {
      row.on_cpu_ns = thread.dispatch.on_cpu_ns;
      row.counts = input.ToCounts(thread.kernel.counts);
      input.Scale(thread.kernel.slices, thread.dispatch.on_cpu_ns, row);
    }
    row.dispatches = thread.dispatch.dispatches;
    row.migrations = thread.dispatch.migrations;
    bounds.OfThread(thread, row);
    report.threads.push_back(std::move(row));
  }
  std::stable_sort(report.threads.begin(), report.threads.end(),
                   [](const ThreadRow& a, const ThreadRow& b) {
                     return std::tie(b.on_cpu_ns, a.comm, a.tid, a.index) <
                            std::tie(a.on_cpu_ns, b.comm, b.tid, b.index);
                   });
}

std::vector<ProcessRow> BuildProcesses(const TableInput& input,
                                       UnseenBounds& bounds, Report& report) {
  std::vector<ProcessRow> processes;
  for (const ProcessState& process : input.in.registry.processes()) {
    ProcessRow row;
    row.index = process.index;
    row.pid = process.pid;
    row.parent_pid = process.parent_pid;
    row.comm = process.comm;
    row.marked = process.mark;
    NameOwner(process.owner, input.in.info, row);
    row.first_seen_ns = process.first_seen_ns;
    row.last_seen_ns = process.last_seen_ns;
    row.counts.resize(input.plans.size());
    row.recording_ns = input.cost.OfProcess(process);
    row.probes = input.probes.OfProcess(process);
    if (row.probes) {
      row.recording_ns =
          AddBounded(row.recording_ns.value_or(0), row.probes->ns);
    }
    processes.push_back(std::move(row));
  }
  for (const ThreadRow& thread : report.threads) {
    ProcessRow& row = processes[static_cast<std::size_t>(thread.process)];
    ++row.threads;
    row.dispatches += thread.dispatches;
    if (!thread.on_cpu_ns) continue;
    row.on_cpu_ns = row.on_cpu_ns.value_or(0) + *thread.on_cpu_ns;
    for (std::size_t i = 0; i < input.plans.size(); ++i) {
      if (thread.counts[i]) {
        row.counts[i] = row.counts[i].value_or(0) + *thread.counts[i];
      }
    }
  }
  for (const ProcessState& process : input.in.registry.processes()) {
    ProcessRow& row = processes[static_cast<std::size_t>(process.index)];
    // What it had at an exec may have been taken back after a loss.
    std::uint64_t rest_ns = row.on_cpu_ns.value_or(0);
    for (const ProgramTime& program : process.before_exec) {
      const std::uint64_t ns = std::min(rest_ns, program.on_cpu_ns);
      if (ns != 0) row.before_exec.push_back({program.comm, ns});
      rest_ns -= ns;
    }
    if (row.on_cpu_ns) input.Scale(SlicesOf(process), *row.on_cpu_ns, row);
    bounds.OfProcess(process, row);
  }
  for (ProcessRow& row : processes) {
    // An estimated part cannot exceed the whole.
    if (row.recording_ns && row.on_cpu_ns) {
      row.recording_ns = std::min(*row.recording_ns, *row.on_cpu_ns);
    }
    if (row.probes && row.on_cpu_ns) {
      for (std::uint64_t* ns :
           {&row.probes->ns, &row.probes->lo_ns, &row.probes->hi_ns}) {
        *ns = std::min(*ns, *row.on_cpu_ns);
      }
    }
    if (row.threads != 0) report.processes.push_back(row);
  }
  std::stable_sort(report.processes.begin(), report.processes.end(),
                   [](const ProcessRow& a, const ProcessRow& b) {
                     return std::tie(b.on_cpu_ns, a.comm, a.pid, a.index) <
                            std::tie(a.on_cpu_ns, b.comm, b.pid, b.index);
                   });
  return processes;
}

}  // namespace countrace::rmap
