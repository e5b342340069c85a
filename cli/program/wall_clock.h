// Dates with a time: UTC, ISO 8601, nanoseconds.
#ifndef COUNTRACE_CLI_PROGRAM_WALL_CLOCK_H_
#define COUNTRACE_CLI_PROGRAM_WALL_CLOCK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// Reads a local time of day, "03:12", "03:12:45.5", as the machine's time zone
// or TZ has it. Returns: all instants in [from_ns, to_ns], since 1970, that
// have it, in order: one for each day, and two where clocks are set back;
// nullopt for anything else.
std::optional<std::vector<std::int64_t>> ParseTimeOfDay(std::string_view text,
                                                        std::int64_t from_ns,
                                                        std::int64_t to_ns);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_WALL_CLOCK_H_
