#include "cli/report/sample_books.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/quantity_format.h"
#include "logformat/sample_points.h"
#include "rmap/columns/report_columns.h"

namespace countrace::cli {
namespace {

using rmap::SampleBooks;

// The rest of the line of an event off CPU, behind the parts that all have.
std::string OffCpuBooksText(const std::string& event, const SampleBooks& books,
                            std::uint64_t lost_records,
                            std::vector<std::string> parts) {
  const auto time = [](std::uint64_t ns) {
    return base::FormatNanoseconds(static_cast<double>(ns));
  };
  if (books.counted == 0) {
    return absl::StrJoin(parts, " + ") +
           (lost_records == 0
                ? "; how much time was off CPU is not known\n"
                : absl::StrFormat("; how much time was off CPU is not known\n"
                                  "  %s records were lost, and any may have "
                                  "been a wait: there are no upper limits\n",
                                  base::FormatCount(lost_records)));
  }
  const bool of_waker = event == logformat::kOffCpuWakerEvent;
  if (!of_waker) {
    parts.push_back(absl::StrFormat("%d shorter waits %s", books.shorter,
                                    time(books.shorter_ns)));
  }
  if (books.lost != 0) {
    parts.push_back(
        absl::StrFormat("%d lost stacks %s", books.lost, time(books.lost_ns)));
  }
  if (books.residual != 0) {
    parts.push_back("residual " + base::FormatNanoseconds(
                                      static_cast<double>(books.residual)));
  }
  std::string text =
      absl::StrFormat("%s = off CPU%s %s\n", absl::StrJoin(parts, " + "),
                      of_waker ? " until woken" : "", time(books.counted));
  if (books.unseen != 0) {
    absl::StrAppendFormat(&text,
                          "  %d more waits whose begin or end was not seen\n",
                          books.unseen);
  }
  return text;
}

std::string EventText(const rmap::Samples& samples, const SampleBooks& books) {
  const rmap::SampledEvent& event = samples.events[books.event];
  const auto amount = [&](std::uint64_t value) {
    return rmap::SampleAmountText(event.name, static_cast<double>(value));
  };
  std::string text = absl::StrFormat(
      "books of %s (%s, %d samples): ", event.name, event.rate, books.hits);
  std::vector<std::string> parts = {"processes " + amount(books.processes)};
  if (books.idle != 0) parts.push_back("idle " + amount(books.idle));
  if (books.outside != 0) parts.push_back("outside " + amount(books.outside));
  if (event.off_cpu)
    return text +
           OffCpuBooksText(event.name, books, samples.lost_records, parts);
  const bool has_limits = !rmap::ProcessLimits(samples, books).empty();
  const std::string missing =
      rmap::MissingIn(samples, books) == 0
          ? ""
          : absl::StrFormat("; the upper limits include %s",
                            amount(rmap::MissingIn(samples, books)));
  const bool of_part = books.counted == 0;  // the time on a CPU is known
  if (of_part && !has_limits) {
    text +=
        absl::StrJoin(parts, " + ") + "; how much was counted is not known\n";
    if (rmap::MissingIn(samples, books) != 0) {
      absl::StrAppendFormat(
          &text,
          "  %s records were lost, and any may have been a sample: the upper "
          "limits include %s\n",
          base::FormatCount(samples.lost_records),
          amount(rmap::MissingIn(samples, books)));
    }
    return text;
  }
  const std::int64_t of =
      has_limits ? rmap::ResidualOfProcesses(samples, books) : 0;
  const auto size = [&](std::int64_t residual) {
    return rmap::SampleAmountText(event.name,
                                  std::abs(static_cast<double>(residual)));
  };
  const std::string where = of_part || !has_limits
                                ? ""
                                : absl::StrFormat("%s%s of it of processes, ",
                                                  of < 0 ? "-" : "", size(of));
  const std::int64_t residual = of_part ? of : books.residual;
  absl::StrAppendFormat(
      &text, "%s = %s %s %s %s residual (%sone period of each CPU: %s%s)\n",
      absl::StrJoin(parts, " + "), of_part ? "on a CPU" : "counted",
      amount(of_part ? books.processes + static_cast<std::uint64_t>(of)
                     : books.counted),
      residual < 0 ? "+" : "-", size(residual), where, amount(books.per_cpu),
      missing);
  if (of_part) return text;
  if (books.lost != 0) {
    absl::StrAppendFormat(
        &text, "  lost: %d samples found no room in the kernel's ring\n",
        books.lost);
  }
  if (books.throttled != 0) {
    absl::StrAppendFormat(&text,
                          "  the kernel stopped sampling %d times: at too "
                          "high a rate; take fewer a second\n",
                          books.throttled);
  }
  if (books.stacks_lost != 0) {
    absl::StrAppendFormat(&text, "  %d samples lost their stack\n",
                          books.stacks_lost);
  }
  return text;
}

std::string PeriodsText(const rmap::PeriodComparison& comparison) {
  const std::string samples = absl::StrFormat(
      "%d and %d samples", comparison.hits[0], comparison.hits[1]);
  if (comparison.degrees_of_freedom == 0) {
    return absl::StrFormat(
        "  the two periods are not compared: %s are not two functions with "
        "enough of both\n",
        samples);
  }
  const std::string test = absl::StrFormat(
      "chi-squared %.1f, %d degree%s of freedom, p %s", comparison.chi_squared,
      comparison.degrees_of_freedom,
      comparison.degrees_of_freedom == 1 ? "" : "s",
      comparison.p < 0.0001 ? std::string("< 0.0001")
                            : absl::StrFormat("= %.4f", comparison.p));
  if (!comparison.disagree()) {
    return absl::StrFormat("  the two periods agree: %s (%s)\n", samples, test);
  }
  return absl::StrFormat(
      "  the two periods disagree: %s (%s)\n"
      "  most at %s: %.1f %% and %.1f %%; a period beats with a loop of the "
      "program, and its shares are wrong: record with another PERIOD\n",
      samples, test, comparison.most, 100 * comparison.share[0],
      100 * comparison.share[1]);
}

const rmap::PeriodComparison* PeriodsOf(std::uint32_t event,
                                        const SampleBooksOfEvents& books) {
  for (const rmap::PeriodComparison& one : books.periods) {
    if (one.event == event) return &one;
  }
  return nullptr;
}

}  // namespace

std::string BooksText(const rmap::Samples& samples,
                      const SampleBooksOfEvents& books) {
  std::string text;
  for (const SampleBooks& one : books.events) {
    text += EventText(samples, one);
    if (const auto* const periods = PeriodsOf(one.event, books)) {
      text += PeriodsText(*periods);
    }
  }
  return text;
}

}  // namespace countrace::cli
