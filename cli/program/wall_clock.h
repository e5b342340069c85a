// Dates with a time: UTC, ISO 8601, nanoseconds.
#ifndef COUNTRACE_CLI_PROGRAM_WALL_CLOCK_H_
#define COUNTRACE_CLI_PROGRAM_WALL_CLOCK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace countrace::cli {

// "2023-11-14T22:13:20.123456789Z" for ns since 1970; "unknown" if no date
// has that many.
std::string FormatWallClock(std::int64_t ns);

// Reads the above; with fewer digits of a second or none, a space for the T,
// and "+02:00" for the Z. Requires the Z or the distance from UTC: a date
// without one means another instant in each time zone. Returns: ns since 1970;
// nullopt for anything else.
std::optional<std::int64_t> ParseWallClock(std::string_view text);
// True if `text` looks like a date, readable or not.
bool IsDate(std::string_view text);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_WALL_CLOCK_H_
