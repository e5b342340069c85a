// The parts of a trace that were asked for: `record --trigger 'hook server:warm
// then start'`, `then pause`, `then resume`. What was recorded outside of them
// is in the streams and in no table; it is not lost.
//
//   start            pause       resume     pause
//     |  in the tables |  left out  |  in    |  left out, to the end
//
// They are firings of these triggers; `.triggers` has each, metadata the first
// of each trigger, and TraceInfo::pauses. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_RECORDED_PART_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_RECORDED_PART_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/trace_info.h"

namespace countrace::logformat {

// The formats of traces with a begin of the tables, and with pauses: older
// readers would count all of it.
inline constexpr std::uint32_t kPartFormatVersion = 6;
inline constexpr std::uint32_t kPauseFormatVersion = 7;

// TriggerFiring::time_ns of a part that has not begun; the end of a pause
// without a resume.
inline constexpr std::uint64_t kNotReached = ~std::uint64_t{0};

// Further pauses are not taken: each costs a reader a pass over all threads.
inline constexpr std::size_t kMostPauses = 10'000;

// How the text of a trigger ends that begins the part, a pause, or ends one.
inline constexpr std::string_view kThenStart = " then start";
inline constexpr std::string_view kThenPause = " then pause";
inline constexpr std::string_view kThenResume = " then resume";

bool BeginsPart(const TriggerFiring& firing);
// One of the three.
bool BoundsPart(const TriggerFiring& firing);

// Adds `firing`, of `.triggers`, to `info`: what bounds a pause to
// TraceInfo::pauses, if it changes anything, and to TraceInfo::triggers if its
// trigger has none yet. A pause in a pause and a resume outside of one change
// nothing.
void AddFiring(TriggerFiring firing, TraceInfo& info);

// "FROM_NS UNTIL_NS", as metadata has them.
std::vector<std::string> PauseTexts(const std::vector<TimeSpan>& pauses);
// Inverse. Returns false if one is none, or they are not ascending and apart.
bool ParsePauses(const std::vector<std::string>& texts,
                 std::vector<TimeSpan>& pauses);

// 0: the whole trace was asked for.
std::uint64_t PartBeginNs(const TraceInfo& info);
// The same; behind the end of the trace if it has not begun.
std::uint64_t PartBeginNs(const TraceInfo& info, std::uint64_t end_ns);

// Pauses between `from_ns` and `until_ns`, cut at these.
std::vector<TimeSpan> PausesIn(const TraceInfo& info, std::uint64_t from_ns,
                               std::uint64_t until_ns);
// The pause that `time_ns` lies in; null: none.
const TimeSpan* PauseAt(const TraceInfo& info, std::uint64_t time_ns);
// "left out: 3 pauses, together 1.2 s"; empty: there are none.
std::string PausesText(std::size_t pauses, std::uint64_t left_out_ns);

// Removes the entry of a part that had not begun, if it has.
void SettlePart(std::vector<TriggerFiring>& triggers);

// ", at @54.001234567"; empty for kNotReached.
std::string AtText(const TriggerFiring& firing);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_RECORDED_PART_H_
