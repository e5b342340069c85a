// A TimeSeries and its phases as text, with a bar of marks for each interval.
#ifndef COUNTRACE_RMAP_OVER_TIME_OVER_TIME_TEXT_H_
#define COUNTRACE_RMAP_OVER_TIME_OVER_TIME_TEXT_H_

#include <string>
#include <vector>

#include "rmap/over_time/over_time.h"
#include "rmap/over_time/phases.h"
#include "rmap/report/report_render.h"

namespace countrace::rmap {

// The accounts of an interval, in the order of their columns.
struct NamedAccount {
  const char* name;
  const char* title;
  char mark;  // in the bar
  Account account;
};
inline constexpr NamedAccount kNamedAccounts[] = {
    {"processes", "on CPU", '#', Account::kProcesses},
    {"interrupts", "interrupts", '!', Account::kInterrupts},
    {"outside", "outside", '-', Account::kOutside},
    {"unattributed", "unattr.", '?', Account::kUnattributed},
    {"idle", "idle", '.', Account::kIdle},
};

// Since the origin of the series.
std::string SecondsText(const TimeSeries& series, std::uint64_t time_ns);

std::string OverTimeText(const TimeSeries& series,
                         const RenderOptions& options);
std::string PhasesText(const TimeSeries& series,
                       const std::vector<Feature>& features,
                       const std::vector<Phase>& phases,
                       const RenderOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_OVER_TIME_OVER_TIME_TEXT_H_
