#include "rmap/diff/balance.h"

namespace countrace::rmap::diff {

namespace {

void AddOnCpuAccounts(const Report& report, Accounts& accounts) {
  std::uint64_t left = 0;
  for (const CpuRow& cpu : report.cpu_rows) {
    accounts.total += cpu.wall_ns;
    accounts.idle += cpu.idle_ns;
    accounts.interrupts += cpu.interrupts_ns;
    accounts.outside += cpu.outside_ns;
    accounts.unattributed += cpu.unattributed_ns;
    left += cpu.wall_ns - cpu.idle_ns - cpu.interrupts_ns - cpu.outside_ns -
            cpu.unattributed_ns;
  }
  for (const ProcessRow& process : report.processes) {
    left -= process.on_cpu_ns.value_or(0);
  }
  accounts.residual += left;
}

// Returns false if this trace has no book of `event`.
bool AddBook(const Report& report, const std::string& event,
             Accounts& accounts) {
  const auto index = EventIndex(report.events, event);
  if (!index || *index >= report.books.size() || !report.books[*index].known) {
    return false;
  }
  const Books& book = report.books[*index];
  std::uint64_t rows = 0;
  for (const ProcessRow& process : report.processes) {
    if (*index < process.counts.size()) {
      rows += process.counts[*index].value_or(0);
    }
  }
  if (book.scaled) {
    const ScaledBooks& scaled = *book.scaled;
    accounts.total += scaled.total;
    accounts.idle += scaled.idle.value_or(0);
    accounts.interrupts += scaled.interrupts.value_or(0);
    accounts.outside += scaled.outside.value_or(0);
    accounts.unattributed += scaled.unattributed.value_or(0);
    // The processes' estimates add up to the common estimate only about.
    accounts.residual +=
        scaled.processes.value_or(0) + scaled.own.value_or(0) - rows;
    return true;
  }
  accounts.total += book.total;
  accounts.idle += book.idle;
  accounts.interrupts += book.interrupts;
  accounts.outside += book.outside;
  accounts.unattributed += book.unattributed;
  accounts.residual += static_cast<std::uint64_t>(book.residual);
  // Counts in the book without a row of the report, the recorder's own
  // included, are residual.
  accounts.residual += book.processes + book.own - rows;
  return true;
}

Accounts AccountsOf(const std::vector<AlignedRow>& rows,
                    const std::vector<Metric>& metrics, std::size_t metric,
                    const std::vector<Report>& reports,
                    std::vector<RowOfRun> AlignedRow::*side) {
  const Metric& what = metrics[metric];
  Accounts accounts;
  for (const Report& report : reports) {
    if (what.kind == MetricKind::kOnCpu) {
      AddOnCpuAccounts(report, accounts);
    } else if (what.kind != MetricKind::kEvent ||
               !AddBook(report, what.name, accounts)) {
      const auto total = ProcessTotal(report, what);
      if (!total) continue;
      accounts.total += total->self.value;
      // Estimates of outer segments are not the sum of the inner ones.
      if (total->self.error.any()) {
        accounts.residual += total->self.value - SumOfSegments(report, what);
      }
    }
  }
  for (const AlignedRow& row : rows) {
    if (row.interrupts) continue;
    std::uint64_t& account =
        row.path.empty() ? accounts.not_in_segments : accounts.segments;
    for (const RowOfRun& run : row.*side) {
      if (run.amounts[metric]) account += run.amounts[metric]->self.value;
    }
  }
  return accounts;
}

}  // namespace

Balance BalanceOf(const std::vector<AlignedRow>& rows,
                  const std::vector<Metric>& metrics, std::size_t metric,
                  const std::vector<Report>& before,
                  const std::vector<Report>& after) {
  return {metrics[metric].name, metrics[metric].is_time,
          AccountsOf(rows, metrics, metric, before, &AlignedRow::before),
          AccountsOf(rows, metrics, metric, after, &AlignedRow::after)};
}

}  // namespace countrace::rmap::diff
