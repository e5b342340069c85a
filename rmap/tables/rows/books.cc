#include "rmap/tables/rows/books.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include "rmap/result/limits.h"
#include "rmap/tables/input/account_sums.h"
#include "rmap/tables/input/report_events.h"

namespace countrace::rmap {

namespace {

// Pid 0: of records without a process, or an unknown recorder.
bool IsRecorder(const TableInput& input, std::int32_t pid) {
  return pid != 0 && pid == input.in.info.recorder_pid;
}

ScaledBooks ScaleBooks(const TableInput& input, const Report& report,
                       std::size_t plan, std::size_t event) {
  ScaledBooks books;
  ErrorSum error;
  std::optional<std::uint64_t>* const places[] = {
      &books.processes, &books.idle, &books.interrupts, &books.outside,
      &books.unattributed};
  for (std::size_t i = 0; i < std::size(kBookAccounts); ++i) {
    const auto scaled = ScaleAccount(input, kBookAccounts[i], event);
    if (!scaled) continue;
    *places[i] = scaled->value;
    if (places[i] == &books.processes) books.tasks = scaled;
    books.total += scaled->value;
    error.Add(*scaled);
  }
  for (const CpuRow& row : report.cpu_rows) books.enabled_ns += row.wall_ns;
  for (const CpuState& cpu : input.in.dispatches.cpus()) {
    books.running_ns += RunningNs(input, cpu, event);
  }
  error.Set(books);
  for (const ProcessRow& row : report.processes) {
    if (!IsRecorder(input, row.pid)) continue;
    if (!row.counts[plan] || !books.processes) continue;
    const std::uint64_t own = std::min(*row.counts[plan], *books.processes);
    books.own = books.own.value_or(0) + own;
    *books.processes -= own;
  }
  return books;
}

void AddDoubt(const CounterDoubts& doubts, std::size_t event, BooksDoubt& sum) {
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

// The count of the recorder's own threads.
std::uint64_t OwnCount(const TableInput& input, std::size_t event) {
  std::uint64_t sum = 0;
  for (const ThreadState& thread : input.in.registry.threads()) {
    if (!IsRecorder(input, thread.process->pid)) continue;
    sum += thread.kernel.counts[event];
  }
  return sum;
}

std::optional<std::uint64_t> InSegments(const TableInput& input,
                                        const Report& report, std::size_t event,
                                        std::uint64_t processes) {
  // With dumps at kernel hooks, only some segments have counts.
  if (input.plans[event].source == SegmentSource::kNone ||
      input.plans[event].source == SegmentSource::kKernelDumps) {
    return std::nullopt;
  }
  std::uint64_t sum = 0;
  for (const SegmentRow& row : report.segment_paths) {
    // The recorder's are in `own`.
    const bool own =
        input.in.info.recorder_pid > 0 && row.pid == input.in.info.recorder_pid;
    if (row.path.size() == 1 && row.counts[event] && row.pid != 0 && !own) {
      sum += row.counts[event]->incl;
      // The accounts have what probes took (rmap/tables/input/probe_costs.h).
      if (row.probes &&
          input.plans[event].source == SegmentSource::kOnCpuTime) {
        sum = AddBounded(sum, row.probes->ns);
      }
    }
  }
  // The counter is read some ns before or after the record's time. Segments
  // never get more than the total.
  return std::min(sum, processes);
}

}  // namespace

void BuildBooks(const std::vector<ProcessRow>& processes,
                const TableInput& input, Report& report) {
  std::uint64_t hooks_ns = 0;
  std::optional<ProbeTime> probes;
  for (const ProcessRow& row : processes) {
    const std::uint64_t probes_ns = row.probes ? row.probes->ns : 0;
    const std::uint64_t recording_ns = row.recording_ns.value_or(0);
    hooks_ns += recording_ns - std::min(recording_ns, probes_ns);
    if (!row.probes) continue;
    if (!probes) probes.emplace();
    probes->ns += row.probes->ns;
    probes->lo_ns += row.probes->lo_ns;
    probes->hi_ns = AddBounded(probes->hi_ns, row.probes->hi_ns);
  }
  for (std::size_t i = 0; i < input.plans.size(); ++i) {
    if (!input.plans[i].cpu_event) continue;
    const std::size_t event = *input.plans[i].cpu_event;
    Books books;
    books.known = input.IsCounted(input.plans[i]);
    for (const CpuState& cpu : input.in.dispatches.cpus()) {
      books.total += cpu.counters.closed[event] + cpu.counters.last[event] -
                     cpu.counters.first[event];
      books.doubt.cut_intervals += cpu.counters.cut_intervals[event];
      books.doubt.cut_counts =
          AddBounded(books.doubt.cut_counts, cpu.counters.cut_counts[event]);
      books.processes += cpu.busy.counts[event];
      books.idle += cpu.idle.counts[event];
      books.interrupts += cpu.interrupts.counts[event];
      books.outside += cpu.outside.counts[event];
      books.unattributed += cpu.unattributed.counts[event];
    }
    books.own = std::min(OwnCount(input, event), books.processes);
    books.processes -= books.own;
    // Modulo 2^64, so that the difference has the right sign.
    books.residual = static_cast<std::int64_t>(
        books.total - books.processes - books.own - books.idle -
        books.interrupts - books.outside - books.unattributed);
    AddDoubt(input.in.dispatches.doubts(), event, books.doubt);
    AddDoubt(input.in.counters.doubts(), event, books.doubt);
    books.in_segments = InSegments(input, report, i, books.processes);
    if (IsOnCpuTime(input.plans[i].name)) {
      books.recording = input.cost.OfBooks(input.in.info, input.in.dispatches,
                                           hooks_ns, input.in.of_range);
      books.recording.probes = probes;
      if (probes) {
        // Calls have the clock of records, which may be some ns ahead.
        ProbeTime& part = *books.recording.probes;
        for (std::uint64_t* ns : {&part.ns, &part.lo_ns, &part.hi_ns}) {
          *ns = std::min(*ns, books.processes + books.own);
        }
      }
    }
    if (books.known && input.Rotates(input.plans[i])) {
      books.scaled = ScaleBooks(input, report, i, event);
      // It is estimated for the whole time; `processes` is counted in
      // rotations.
      books.in_segments.reset();
    }
    report.books.push_back(books);
  }
}

}  // namespace countrace::rmap
