// Sizes, durations and counts as people read them.
#ifndef COUNTRACE_CLI_QUANTITY_H_
#define COUNTRACE_CLI_QUANTITY_H_

#include <cstdint>
#include <string>

namespace countrace::cli {

std::string FormatBytes(std::uint64_t bytes);        // "512 B", "3.4 MiB"
std::string FormatDuration(std::uint64_t time_ns);   // "812 ns", "2.43 s"
std::string FormatClock(std::uint64_t duration_ns);  // "0:07", "1:02:03"
std::string FormatCount(std::uint64_t count);        // "1,234,567"

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_QUANTITY_H_
