// The part of a trace that was asked for: `record --trigger 'hook server:warm
// then start'`. What was recorded before that hook is in the streams and in no
// table; it is not lost.
//
// It is a firing of that trigger in the trace's description, which exists from
// the beginning of the recording on. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_RECORDED_PART_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_RECORDED_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "logformat/trace_info.h"

namespace countrace::logformat {

// The format of traces with such a part: older readers would count all of it.
inline constexpr std::uint32_t kPartFormatVersion = 6;

// TriggerFiring::time_ns of a part that has not begun.
inline constexpr std::uint64_t kNotReached = ~std::uint64_t{0};

// How the text of a trigger ends that begins the part.
inline constexpr char kThenStart[] = " then start";

bool BeginsPart(const TriggerFiring& firing);

// 0: the whole trace was asked for.
std::uint64_t PartBeginNs(const TraceInfo& info);
// The same; behind the end of the trace if it has not begun.
std::uint64_t PartBeginNs(const TraceInfo& info, std::uint64_t end_ns);

// Removes the entry of a part that had not begun, if it has.
void SettlePart(std::vector<TriggerFiring>& triggers);

// ", at @54.001234567"; empty for kNotReached.
std::string AtText(const TriggerFiring& firing);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_RECORDED_PART_H_
