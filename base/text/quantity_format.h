// Counts, times and sizes as people read them.
#ifndef COUNTRACE_BASE_TEXT_QUANTITY_FORMAT_H_
#define COUNTRACE_BASE_TEXT_QUANTITY_FORMAT_H_

#include <cstdint>
#include <string>

namespace countrace::base {

// 1234567 -> "1,234,567".
std::string FormatCount(std::uint64_t value);
// A duration: three significant digits and the unit that suits: "0", "431 ns",
// "12.3 us", "4.56 ms", "78.9 s".
std::string FormatNanoseconds(double ns);
// An instant after a beginning, as perf script prints it: "12.345678 s", the
// rest cut off.
std::string FormatInstant(std::uint64_t since_begin_ns);
// "12.000000009": no digit is lost.
std::string FormatSeconds(std::uint64_t ns);
// What passes while one waits: "0:07", "1:02:03".
std::string FormatClock(std::uint64_t duration_ns);
// Powers of 1024: "512 B", "3.4 MiB".
std::string FormatBytes(std::uint64_t bytes);
// Share of `whole` in percent: "12.3 %", "-" if there is no whole.
std::string FormatShare(std::uint64_t part, std::uint64_t whole);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_QUANTITY_FORMAT_H_
