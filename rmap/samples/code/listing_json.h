// A function line by line as JSON: the same of `countrace annotate` and the
// timeline's server. Names may be no UTF-8. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_CODE_LISTING_JSON_H_
#define COUNTRACE_RMAP_SAMPLES_CODE_LISTING_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "rmap/samples/code/listing.h"

namespace countrace::rmap {

// "countrace.annotation/1".
nlohmann::ordered_json ListingJson(const Listing& listing);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_CODE_LISTING_JSON_H_
