// Samples as JSON: the same of `countrace report`, `annotate` and the
// timeline's server. Names may be no UTF-8. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_SAMPLES_JSON_H_
#define COUNTRACE_RMAP_SAMPLES_SAMPLES_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "rmap/samples/function_rows.h"
#include "rmap/samples/listing.h"
#include "rmap/samples/samples.h"

namespace countrace::rmap {

// A row of "countrace.samples/1" by function.
nlohmann::ordered_json FunctionJson(const Samples& samples, const CodeRow& row);

// Of "countrace.samples/1", too.
nlohmann::ordered_json BooksJson(const Samples& samples,
                                 const SampleBooks& books);

// "countrace.annotation/1".
nlohmann::ordered_json ListingJson(const Listing& listing);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SAMPLES_JSON_H_
