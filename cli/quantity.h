// Sizes and durations as people write and read them.
#ifndef COUNTRACE_CLI_QUANTITY_H_
#define COUNTRACE_CLI_QUANTITY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace countrace::cli {

// "4096", "64K", "64M", "2G", "1T" (powers of 1024; "KiB" and "KB" mean the
// same). Returns nothing for anything else, fractions and overflow included.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

// "10s", "250ms", "1.5s", "2m", "1h", "100us", "5ns"; a bare number is seconds.
// Returns ns, or nothing for anything else, 0 and overflow included.
std::optional<std::uint64_t> ParseDuration(std::string_view text);

std::string FormatBytes(std::uint64_t bytes);        // "512 B", "3.4 MiB"
std::string FormatDuration(std::uint64_t time_ns);   // "812 ns", "2.43 s"
std::string FormatClock(std::uint64_t duration_ns);  // "0:07", "1:02:03"
std::string FormatCount(std::uint64_t count);        // "1,234,567"

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_QUANTITY_H_
