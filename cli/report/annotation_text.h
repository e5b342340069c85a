// What `countrace annotate` prints as text: source lines and instructions of
// one function, with the samples of each.
#ifndef COUNTRACE_CLI_REPORT_ANNOTATION_TEXT_H_
#define COUNTRACE_CLI_REPORT_ANNOTATION_TEXT_H_

#include <cstddef>
#include <string>

#include "rmap/samples/code/listing.h"

namespace countrace::cli {

// `all`: also lines and instructions far from any sample. `width`: of a line.
std::string ListingText(const rmap::Listing& listing, bool all,
                        std::size_t width);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_ANNOTATION_TEXT_H_
