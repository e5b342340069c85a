// Formats counts, times and sizes for users.
#ifndef COUNTRACE_BASE_TEXT_QUANTITY_FORMAT_H_
#define COUNTRACE_BASE_TEXT_QUANTITY_FORMAT_H_

#include <cstdint>
#include <string>

namespace countrace::base {

// 1234567 -> "1,234,567".
std::string FormatCount(std::uint64_t value);
// At most 8 columns below 1e21, with three significant digits from 100,000 on:
// "12,345", "1.23 M".
std::string FormatShortCount(double value);
// A duration with three significant digits and a suitable unit: "0", "431 ns",
// "12.3 us", "4.56 ms", "78.9 s".
std::string FormatNanoseconds(double ns);
// Time since a beginning, as perf script prints it: "12.345678 s", further
// digits cut off.
std::string FormatInstant(std::uint64_t since_begin_ns);
// "12.000000009": keeps all digits.
std::string FormatSeconds(std::uint64_t ns);
// Elapsed time: "0:07", "1:02:03".
std::string FormatClock(std::uint64_t duration_ns);
// Powers of 1024: "512 B", "3.4 MiB".
std::string FormatBytes(std::uint64_t bytes);
// Share of `whole` in percent: "12.3 %", "-" if `whole` is 0.
std::string FormatShare(std::uint64_t part, std::uint64_t whole);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_QUANTITY_FORMAT_H_
