// Tables of samples as JSON: the same of `countrace report`, the timeline's
// server and an exported page. Names may be no UTF-8. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_SAMPLES_JSON_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_SAMPLES_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "rmap/result/samples.h"
#include "rmap/samples/rows/period_comparison.h"
#include "rmap/samples/rows/place_rows.h"
#include "rmap/samples/sums/event_books.h"

namespace countrace::rmap {

// A row of "countrace.samples/1" by function.
nlohmann::ordered_json FunctionJson(const Samples& samples,
                                    const SampleRow& row);

// Of "countrace.samples/1", too: an array, by event. An event that has two
// periods has their comparison.
nlohmann::ordered_json BooksJson(const Samples& samples,
                                 const std::vector<SampleBooks>& books,
                                 const std::vector<PeriodComparison>& periods);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_SAMPLES_JSON_H_
