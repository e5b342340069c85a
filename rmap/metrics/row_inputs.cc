// More than 400 lines: one class, a function for each table's quantities.
#include "rmap/metrics/row_inputs.h"

#include <cstdlib>
#include <utility>

#include "rmap/metrics/event_names.h"
#include "rmap/result/bounds.h"

namespace countrace::rmap::metrics {
namespace {

Measured Exactly(std::uint64_t value, Quality quality = Quality::kExact) {
  Measured input;
  input.value = static_cast<double>(value);
  input.quality = quality;
  return input;
}

// An estimate without its standard error in the trace.
std::optional<Measured> Estimated(const std::optional<std::uint64_t>& value) {
  if (!value) return std::nullopt;
  return Exactly(*value, Quality::kScaled);
}

// An estimate of a multiplexed event.
Measured FromTurns(const ScaledCount& count, Quality quality) {
  Measured input = Exactly(count.value, Worse(quality, Quality::kScaled));
  input.standard_error = count.standard_error;
  return input;
}

// A sum with an unknown part is unknown.
void AddTime(const std::optional<std::uint64_t>& ns,
             std::optional<Measured>& sum) {
  if (ns && sum) {
    sum->value += static_cast<double>(*ns);
  } else {
    sum.reset();
  }
}

// A number of a row, with its interval if it is not exact.
template <typename Row>
std::optional<Measured> InRow(const std::optional<std::uint64_t>& value,
                              const Row& row, Number number) {
  if (!value) return std::nullopt;
  Measured input = Exactly(*value);
  if (row.qualities.Has(Quality::kInferred)) input.quality = Quality::kInferred;
  if (const auto bounds = row.bounds.Of(number)) {
    input.quality = Worse(input.quality, Quality::kBounded);
    if (bounds->hi != Bounds::kNone) {
      input.lo = static_cast<double>(bounds->lo);
      input.hi = static_cast<double>(bounds->hi);
    }
  }
  return input;
}

std::optional<Measured> Part(const SegmentRow& row,
                             const std::optional<InclusiveExclusive>& pair,
                             Number incl, Number excl, bool exclusive) {
  if (!pair) return std::nullopt;
  return InRow(exclusive ? pair->excl : pair->incl, row,
               exclusive ? excl : incl);
}

}  // namespace

RowInputs::RowInputs(const Report& report) : report_(report) {
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    events_.emplace(CanonicalEvent(report.events[i].name), i);
  }
  for (const CpuRow& cpu : report.cpu_rows) {
    unattributed_ns_ += cpu.unattributed_ns;
    has_idle_ |= cpu.idle_ns != 0;
    has_interrupts_ |= cpu.interrupts_ns != 0;
  }
  for (const Books& books : report.books) {
    has_own_ |= books.own != 0;
    has_idle_ |= books.idle != 0;
    has_interrupts_ |= books.interrupts != 0;
  }
  const auto add = [](const ThreadRow& thread, bool first, TaskSums& sums) {
    sums.migrations += thread.migrations;
    sums.quality = Worse(sums.quality, thread.quality);
    if (first) sums.wait = sums.blocked = Exactly(0);
    AddTime(thread.wait_ns, sums.wait);
    AddTime(thread.blocked_ns, sums.blocked);
  };
  bool first = true;
  for (const ThreadRow& thread : report.threads) {
    const auto [at, is_new] = of_process_.try_emplace(thread.process);
    add(thread, is_new, at->second);
    add(thread, std::exchange(first, false), of_all_);
  }
}

std::size_t RowInputs::RowCount(Scope scope) const {
  switch (scope) {
    case Scope::kTrace:
      return 1;
    case Scope::kProcess:
      return report_.processes.size();
    case Scope::kThread:
      return report_.threads.size();
    case Scope::kSegment:
      return report_.segments.size();
    case Scope::kPath:
      return report_.segment_paths.size();
    case Scope::kCpu:
      return report_.cpu_rows.size();
  }
  return 0;
}

std::optional<Measured> RowInputs::Get(Scope scope, std::size_t row,
                                       const Binding& binding) const {
  return binding.kind == Binding::Kind::kEvent
             ? EventOf(scope, row, binding)
             : QuantityOf(scope, row, binding.quantity);
}

std::string RowInputs::Similar(const std::string& event) const {
  const std::string wanted = CanonicalEvent(event);
  const std::string base = wanted.substr(0, wanted.find(':'));
  std::string names;
  for (const EventColumn& column : report_.events) {
    const std::string known = CanonicalEvent(column.name);
    if (known.substr(0, known.find(':')) != base) continue;
    if (!names.empty()) names += ", ";
    names += column.name;
  }
  return names;
}

std::optional<std::size_t> RowInputs::EventIndex(
    const std::string& event) const {
  const auto found = events_.find(CanonicalEvent(event));
  if (found == events_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::uint64_t> RowInputs::Missing(std::size_t event) const {
  if (event >= report_.books.size() || !report_.books[event].known) {
    return std::nullopt;
  }
  const Books& books = report_.books[event];
  const std::optional<std::uint64_t> uncounted = Uncounted(books);
  if (!uncounted) return std::nullopt;
  return books.unattributed +
         static_cast<std::uint64_t>(std::llabs(books.residual)) + *uncounted;
}

// Counts that the total lacks; absent: there is no bound.
std::optional<std::uint64_t> RowInputs::Uncounted(const Books& books) {
  if (!books.doubt.any()) return 0;
  if (!books.doubt.only_cut() || books.doubt.cut_counts == Bounds::kNone) {
    return std::nullopt;
  }
  return books.doubt.cut_counts;
}

RowInputs::Input RowInputs::Task(const std::optional<std::uint64_t>& value,
                                 Quality quality,
                                 std::optional<std::uint64_t> missing) const {
  if (!value) return std::nullopt;
  Measured input = Exactly(*value, quality);
  if (quality == Quality::kBounded && missing) {
    input.lo = input.value;
    input.hi = input.value + static_cast<double>(*missing);
  }
  return input;
}

RowInputs::Input RowInputs::QuantityOf(Scope scope, std::size_t row,
                                       Quantity quantity) const {
  switch (quantity) {
    case Quantity::kDuration:
    case Quantity::kCpus:
    case Quantity::kRecords:
    case Quantity::kOwnBpf:
    case Quantity::kDiscarded:
      return TraceQuantity(quantity);
    default:
      break;
  }
  switch (scope) {
    case Scope::kTrace:
      return AllProcesses(quantity);
    case Scope::kProcess:
      return ProcessQuantity(report_.processes[row], quantity);
    case Scope::kThread:
      return ThreadQuantity(report_.threads[row], quantity);
    case Scope::kSegment:
      return SegmentQuantity(report_.segments[row], quantity);
    case Scope::kPath:
      return SegmentQuantity(report_.segment_paths[row], quantity);
    case Scope::kCpu:
      return CpuQuantity(report_.cpu_rows[row], quantity);
  }
  return std::nullopt;
}

RowInputs::Input RowInputs::TraceQuantity(Quantity quantity) const {
  switch (quantity) {
    case Quantity::kDuration:
      return Exactly(report_.elapsed_ns());
    case Quantity::kCpus:
      return Exactly(report_.cpus);
    case Quantity::kRecords:
      return Exactly(report_.records);
    case Quantity::kDiscarded:
      return Exactly(report_.loss.discarded_events);
    case Quantity::kOwnBpf: {
      if (report_.own_cost.bpf_sampled_ns == 0) return std::nullopt;
      // An estimate from samples, without its standard error in the trace.
      return Exactly(report_.own_cost.bpf_ns, Quality::kScaled);
    }
    default:
      return std::nullopt;
  }
}

RowInputs::Input RowInputs::AllProcesses(Quantity quantity) const {
  if (quantity == Quantity::kWait || quantity == Quantity::kBlocked ||
      quantity == Quantity::kMigrations) {
    return report_.threads.empty() ? std::nullopt
                                   : SumQuantity(of_all_, quantity);
  }
  if (report_.processes.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  Quality quality = Quality::kExact;
  for (const ProcessRow& row : report_.processes) {
    const Input one = ProcessQuantity(row, quantity);
    if (!one) return std::nullopt;
    quality = Worse(quality, one->quality);
    sum += quantity == Quantity::kOnCpu     ? *row.on_cpu_ns
           : quantity == Quantity::kThreads ? row.threads
                                            : row.dispatches;
  }
  // Threads that are missing in several rows are missing in the sum once.
  return Task(sum, quality,
              quantity == Quantity::kOnCpu
                  ? std::optional<std::uint64_t>(unattributed_ns_)
                  : std::nullopt);
}

RowInputs::Input RowInputs::SumQuantity(const TaskSums& sums,
                                        Quantity quantity) {
  if (quantity == Quantity::kMigrations) {
    return Exactly(sums.migrations, sums.quality);
  }
  Input sum = quantity == Quantity::kWait ? sums.wait : sums.blocked;
  if (sum) sum->quality = sums.quality;
  return sum;
}

RowInputs::Input RowInputs::ProcessQuantity(const ProcessRow& row,
                                            Quantity quantity) const {
  switch (quantity) {
    case Quantity::kRecording:
      return Estimated(row.recording_ns);
    case Quantity::kOnCpu:
      return InRow(row.on_cpu_ns, row, Number::kOnCpu);
    case Quantity::kDispatches:
      // Without kernel records there is no dispatch: unknown, not 0.
      if (!row.on_cpu_ns) return std::nullopt;
      return InRow(row.dispatches, row, Number::kDispatches);
    case Quantity::kThreads:
      return InRow(row.threads, row, Number::kThreads);
    default: {
      const auto found = of_process_.find(row.index);
      if (found == of_process_.end() || !row.on_cpu_ns) return std::nullopt;
      return SumQuantity(found->second, quantity);
    }
  }
}

RowInputs::Input RowInputs::ThreadQuantity(const ThreadRow& row,
                                           Quantity quantity) const {
  if (!row.on_cpu_ns) return std::nullopt;
  switch (quantity) {
    case Quantity::kOnCpu:
      return InRow(row.on_cpu_ns, row, Number::kOnCpu);
    case Quantity::kDispatches:
      return InRow(row.dispatches, row, Number::kDispatches);
    case Quantity::kMigrations:
      return InRow(row.migrations, row, Number::kMigrations);
    case Quantity::kWait:
      return InRow(row.wait_ns, row, Number::kWait);
    case Quantity::kBlocked:
      return InRow(row.blocked_ns, row, Number::kBlocked);
    default:
      return std::nullopt;
  }
}

RowInputs::Input RowInputs::SegmentQuantity(const SegmentRow& row,
                                            Quantity quantity) {
  const auto per_call = [&](double ns) -> Input {
    if (row.calls == 0) return std::nullopt;
    Measured input;
    input.value = ns;
    input.quality = row.quality;
    return input;
  };
  const TimeStatistics& wall = row.wall;
  switch (quantity) {
    case Quantity::kRecording:
      return Estimated(row.recording_ns);
    case Quantity::kCalls:
      return InRow(row.calls, row, Number::kCalls);
    case Quantity::kWall:
      return InRow(wall.incl, row, Number::kWallIncl);
    case Quantity::kExclusiveWall:
      return InRow(wall.excl, row, Number::kWallExcl);
    case Quantity::kOnCpu:
    case Quantity::kExclusiveOnCpu:
      return Part(row, row.on_cpu, Number::kOnCpuIncl, Number::kOnCpuExcl,
                  quantity != Quantity::kOnCpu);
    case Quantity::kOffCpu:
    case Quantity::kExclusiveOffCpu:
      return Part(row, row.off_cpu, Number::kOffCpuIncl, Number::kOffCpuExcl,
                  quantity != Quantity::kOffCpu);
    case Quantity::kWait:
    case Quantity::kExclusiveWait:
      return Part(row, row.wait, Number::kWaitIncl, Number::kWaitExcl,
                  quantity != Quantity::kWait);
    case Quantity::kBlocked:
    case Quantity::kExclusiveBlocked:
      return Part(row, row.blocked, Number::kBlockedIncl, Number::kBlockedExcl,
                  quantity != Quantity::kBlocked);
    case Quantity::kCallMean:
      return per_call(wall.mean);
    case Quantity::kCallStddev:
      return per_call(wall.stddev);
    case Quantity::kCallMin:
      return per_call(static_cast<double>(wall.min));
    case Quantity::kCallMax:
      return per_call(static_cast<double>(wall.max));
    case Quantity::kCallP50:
      return per_call(static_cast<double>(wall.p50));
    case Quantity::kCallP90:
      return per_call(static_cast<double>(wall.p90));
    case Quantity::kCallP99:
      return per_call(static_cast<double>(wall.p99));
    default:
      return std::nullopt;
  }
}

RowInputs::Input RowInputs::CpuQuantity(const CpuRow& row,
                                        Quantity quantity) const {
  switch (quantity) {
    case Quantity::kWall:
      return Exactly(row.wall_ns);
    case Quantity::kOnCpu:
    case Quantity::kBusy:
      return InRow(row.busy_ns, row, Number::kBusy);
    case Quantity::kIdle:
      if (!has_idle_) return std::nullopt;
      return InRow(row.idle_ns, row, Number::kIdle);
    case Quantity::kInterrupts:
      if (!has_interrupts_) return std::nullopt;
      return InRow(row.interrupts_ns, row, Number::kInterrupts);
    case Quantity::kOutside:
      return InRow(row.outside_ns, row, Number::kOutside);
    case Quantity::kUnattributed:
      return Exactly(row.unattributed_ns);
    case Quantity::kDispatches:
      return InRow(row.dispatches, row, Number::kDispatches);
    default:
      return std::nullopt;
  }
}

RowInputs::Input RowInputs::AccountInTurns(const ScaledBooks& books,
                                           Account account) const {
  switch (account) {
    case Account::kTotal: {
      Measured total = Exactly(books.total, Quality::kScaled);
      total.standard_error = books.standard_error;
      return total;
    }
    case Account::kUnattributed:
      return Estimated(books.unattributed);
    case Account::kProcesses:
      return Estimated(books.processes);
    case Account::kOwn:
      return Estimated(books.own);
    case Account::kIdle:
      return Estimated(books.idle);
    case Account::kInterrupts:
      return Estimated(books.interrupts);
    case Account::kOutside:
      return Estimated(books.outside);
    case Account::kRow:  // for the trace: counts of the recorded processes
      if (!books.tasks) return std::nullopt;
      return FromTurns(*books.tasks, Quality::kExact);
    case Account::kExclusive:
      return std::nullopt;
  }
  return std::nullopt;
}

RowInputs::Input RowInputs::AccountOfBooks(std::size_t event,
                                           Account account) const {
  if (event >= report_.books.size() || !report_.books[event].known) {
    return std::nullopt;
  }
  const Books& books = report_.books[event];
  if (books.scaled) return AccountInTurns(*books.scaled, account);
  // The total is exact, unless the counter itself is in doubt: lost records
  // only move counts to `unattributed`.
  const Quality total_quality =
      books.doubt.any() ? Quality::kBounded : Quality::kExact;
  const Quality quality = books.unattributed == 0 && books.residual == 0
                              ? total_quality
                              : Quality::kBounded;
  const std::optional<std::uint64_t> missing = Missing(event);
  switch (account) {
    case Account::kTotal:
      return Task(books.total, total_quality, Uncounted(books));
    case Account::kUnattributed:
      return Task(books.unattributed, total_quality, Uncounted(books));
    case Account::kProcesses:
      return Task(books.processes, quality, missing);
    case Account::kOwn:
      if (!has_own_) return std::nullopt;
      return Task(books.own, quality, missing);
    case Account::kIdle:
      if (!has_idle_) return std::nullopt;
      return Task(books.idle, quality, missing);
    case Account::kInterrupts:
      if (!has_interrupts_) return std::nullopt;
      return Task(books.interrupts, quality, missing);
    case Account::kOutside:
      return Task(books.outside, quality, missing);
    case Account::kRow:  // for the trace: counts of the recorded processes
      return Task(books.processes + books.own, quality, missing);
    case Account::kExclusive:
      return std::nullopt;
  }
  return std::nullopt;
}

RowInputs::Input RowInputs::EventOf(Scope scope, std::size_t row,
                                    const Binding& binding) const {
  const auto event = EventIndex(binding.event);
  if (!event) return std::nullopt;
  const bool exclusive = binding.account == Account::kExclusive;
  if (binding.account != Account::kRow && !exclusive) {
    return AccountOfBooks(*event, binding.account);
  }
  const auto in_segment = [&](const SegmentRow& segment) -> Input {
    if (*event >= segment.counts.size() || !segment.counts[*event]) {
      return std::nullopt;
    }
    const SegmentCount& count = *segment.counts[*event];
    const CountPart part = exclusive ? CountPart::kExcl : CountPart::kIncl;
    Measured input = *InRow(exclusive ? count.excl : count.incl, segment,
                            CountNumber(*event, part));
    input.quality = count.quality;
    if (count.estimate && count.quality == Quality::kScaled) {
      input.lo = input.hi = std::nullopt;
    }
    // The standard error belongs to the inclusive count.
    if (!exclusive || count.excl == count.incl) {
      input.standard_error = count.estimate.Read().standard_error;
    }
    return input;
  };
  const auto in_counts = [&](const auto& in_row) -> Input {
    const Number number = CountNumber(*event, CountPart::kWhole);
    if (*event < in_row.scaled.size() && in_row.scaled[*event]) {
      const auto bounds = in_row.bounds.Of(number);
      const bool missing = bounds && bounds->hi == Bounds::kNone;
      return FromTurns(*in_row.scaled[*event],
                       missing ? Quality::kBounded : Quality::kExact);
    }
    if (*event >= in_row.counts.size()) return std::nullopt;
    return InRow(in_row.counts[*event], in_row, number);
  };
  switch (scope) {
    case Scope::kTrace:
      return AccountOfBooks(*event, Account::kRow);
    case Scope::kProcess:
      return in_counts(report_.processes[row]);
    case Scope::kThread:
      return in_counts(report_.threads[row]);
    case Scope::kSegment:
      return in_segment(report_.segments[row]);
    case Scope::kPath:
      return in_segment(report_.segment_paths[row]);
    case Scope::kCpu:
      return in_counts(report_.cpu_rows[row]);
  }
  return std::nullopt;
}

}  // namespace countrace::rmap::metrics
