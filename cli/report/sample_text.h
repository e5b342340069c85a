// Amounts of samples for people. Thread: any.
#ifndef COUNTRACE_CLI_REPORT_SAMPLE_TEXT_H_
#define COUNTRACE_CLI_REPORT_SAMPLE_TEXT_H_

#include <string>

#include "rmap/samples/sums/sampled_amount.h"

namespace countrace::cli {

// "513 ms" of a clock, "1.2 M" of other events.
std::string SampleAmountText(const std::string& event, double value);

// "~513 ms"; "513 ms" if it is exact; "-": no sample.
std::string SampleEstimateText(const std::string& event,
                               const rmap::SampledAmount& amount);

// "~31.2 % [29.1, 33.4]"; "31.2 %" if it is exact; "-": no sample.
std::string SampleShareText(const rmap::SampledAmount& amount);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLE_TEXT_H_
