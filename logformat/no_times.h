// What TraceInfo::not_known says of a trace without times. Traces before
// TraceInfo::has_times was in their metadata have this text alone.
#ifndef COUNTRACE_LOGFORMAT_NO_TIMES_H_
#define COUNTRACE_LOGFORMAT_NO_TIMES_H_

namespace countrace::logformat {

inline constexpr char kNoTimes[] =
    "times (the source has no clock): events are in the order of their files";

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_NO_TIMES_H_
