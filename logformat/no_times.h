// Imported traces whose events have no times: their source has no clock.
//
// The time of their records is a number that counts the events, stream after
// stream in the order of the files. It orders records; it is no time, and no
// verb shows it as one.
#ifndef COUNTRACE_LOGFORMAT_NO_TIMES_H_
#define COUNTRACE_LOGFORMAT_NO_TIMES_H_

#include <algorithm>

#include "logformat/trace_info.h"

namespace countrace::logformat {

// Stands in TraceInfo::not_known of such a trace, so that readers that do not
// know of them say it, too.
inline constexpr char kNoTimes[] =
    "times (the source has no clock): events are in the order of their files";

inline bool HasTimes(const TraceInfo& info) {
  return std::find(info.not_known.begin(), info.not_known.end(), kNoTimes) ==
         info.not_known.end();
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_NO_TIMES_H_
