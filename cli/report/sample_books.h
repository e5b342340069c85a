// What is below a table of samples: the books of each event, and the comparison
// of its two periods; for people.
#ifndef COUNTRACE_CLI_REPORT_SAMPLE_BOOKS_H_
#define COUNTRACE_CLI_REPORT_SAMPLE_BOOKS_H_

#include <string>
#include <vector>

#include "rmap/result/samples.h"
#include "rmap/samples/rows/period_comparison.h"
#include "rmap/samples/sums/event_books.h"

namespace countrace::cli {

struct SampleBooksOfEvents {
  std::vector<rmap::SampleBooks> events;
  std::vector<rmap::PeriodComparison> periods;  // of those that have two
};

std::string BooksText(const rmap::Samples& samples,
                      const SampleBooksOfEvents& books);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLE_BOOKS_H_
