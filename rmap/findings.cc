#include "rmap/findings.h"

#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "rmap/tables/rows/waker_rows.h"

namespace countrace::rmap {

void AddFindings(const FindingSources& in, LossLedger& ledger) {
  if (in.registry.gate().separates_processes() && !in.registry.any_mark()) {
    ledger.AddMessage(
        "no process of this trace is marked: --mark names some by process id "
        "or command");
  }
  if (in.dispatches.contradictions() != 0) {
    const ThreadState* most = nullptr;
    for (const ThreadState& thread : in.registry.threads()) {
      if (thread.dispatch.unseen_switches == 0) continue;
      if (most == nullptr ||
          thread.dispatch.unseen_switches > most->dispatch.unseen_switches) {
        most = &thread;
      }
    }
    const std::string where =
        most == nullptr ? ""
                        : absl::StrFormat(", most often of tid %d (%s)",
                                          most->tid, most->comm);
    ledger.AddMessage(absl::StrFormat(
        "%d switches were not shown by the kernel, without a discarded "
        "count%s: the time around them is unattributed",
        in.dispatches.contradictions(), where));
  }
  if (in.registry.may_lack_marks()) {
    ledger.AddMessage(
        "kernel records were lost: a process is outside, too, if it descends "
        "from a marked one, but its fork or its name was lost");
  }
  for (const CounterDoubts* doubts :
       {&in.dispatches.doubts(), &in.cpu_counters.doubts()}) {
    for (std::string& message :
         doubts->Messages(in.info.cpu_events, in.info.cpu_counter_limits)) {
      ledger.AddMessage(std::move(message));
    }
  }
  for (std::string& message : in.thread_counters.doubts().Messages(
           in.info.thread_events, in.info.thread_counter_limits)) {
    ledger.AddMessage(std::move(message));
  }
  const std::uint64_t malformed = in.malformed + in.dispatches.malformed();
  if (malformed != 0) {
    ledger.AddMessage(absl::StrFormat(
        "%d kernel records are shorter than their layout or of an unknown "
        "event, and were left out: see countrace verify",
        malformed));
  }
  if (in.segments.too_deep() != 0) {
    ledger.AddMessage(absl::StrFormat(
        "%d calls are nested deeper than %d: they are counted in the rows of "
        "their segments, without their times",
        in.segments.too_deep(), SegmentBuilder::kMaxDepth));
  }
  for (const auto& [hook_id, calls] : in.segments.late_exits()) {
    ledger.AddMessage(absl::StrFormat(
        "%d calls of %s ended after a call around them had ended (coroutines "
        "that are resumed in turn, or exits out of order): their rows have "
        "limits",
        calls, HookName(in.info, hook_id)));
  }
  if (in.dispatches.blocked().folded() != 0) {
    ledger.AddMessage(absl::StrFormat(
        "%d blocked intervals are of more than %d kinds (thread, segment, "
        "waker): they are in rows of the waker [others]",
        in.dispatches.blocked().folded(), BlockedTime::kMaxRows));
  }
  if (in.paths.folded_calls() != 0) {
    ledger.AddMessage(absl::StrFormat(
        "%d calls lie on paths beyond %d paths or %d levels: their paths are "
        "in rows \"[other paths]\"; the rows of their segments count them",
        in.paths.folded_calls(), CallPaths::kMaxPaths,
        CallPaths::kMaxPathDepth));
  }
}

void AddProbeFindings(const std::vector<ProcessRow>& processes,
                      LossLedger& ledger) {
  constexpr std::uint64_t kWorthNaming = 20;  // 5 %
  const ProcessRow* most = nullptr;
  std::uint64_t others = 0;
  for (const ProcessRow& row : processes) {
    if (!row.probes || !row.on_cpu_ns) continue;
    if (row.probes->ns <= *row.on_cpu_ns / kWorthNaming) continue;
    ++others;
    if (most == nullptr || row.probes->ns > most->probes->ns) most = &row;
  }
  if (most == nullptr) return;
  --others;
  ledger.AddMessage(absl::StrFormat(
      "probes took about %s of the %s on-CPU (%s) of %s (pid %d)%s: it runs "
      "that much slower than without them, and times of its segments are "
      "estimates; cheaper are hooks in the program (countrace/hooks.h), USDT "
      "probes (--hook usdt:FILE:PROVIDER:NAME), or counting enters alone "
      "(--hook uprobe-enter:FILE:FUNCTION, kfunc-enter:FUNCTION)",
      base::FormatNanoseconds(static_cast<double>(most->probes->ns)),
      base::FormatNanoseconds(static_cast<double>(*most->on_cpu_ns)),
      base::FormatShare(most->probes->ns, *most->on_cpu_ns),
      most->comm.empty() ? "(no name)" : most->comm, most->pid,
      others == 0
          ? ""
          : absl::StrFormat(", and more than 5 %% of %d others", others)));
}

void AddCutCpus(const DispatchTracker& dispatches, LossLedger& ledger) {
  for (const CpuState& cpu : dispatches.cpus()) {
    if (!cpu.begun()) continue;
    const bool cut = !cpu.ended();
    if (cut) {
      ledger.AddMessage(absl::StrFormat(
          "cpu %d: the recording ended without a last counter dump; what ran "
          "after its last record is not in the books",
          cpu.cpu));
    }
    const std::uint64_t returns = cpu.cuts - (cut ? 1 : 0);
    if (returns != 0) {
      ledger.AddMessage(absl::StrFormat(
          "cpu %d: its records ended without a last counter dump and began "
          "again, %d times; what ran between is not in the books",
          cpu.cpu, returns));
    }
  }
}

}  // namespace countrace::rmap
