// How a trace shows that it was made of a listing of counts: it has no record
// of a switch or a page fault, which others have for each that is counted.
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_LISTING_SOURCE_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_LISTING_SOURCE_H_

#include <string_view>

#include "logformat/trace_info.h"

namespace countrace::logformat {

// Ends TraceInfo::source, behind the tool's name.
inline constexpr std::string_view kListingSource = ", a listing of counts";

inline bool IsListing(const TraceInfo& info) {
  return info.source.ends_with(kListingSource);
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_LISTING_SOURCE_H_
