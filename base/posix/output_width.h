// How many columns a line of text may have.
//
// Thread: any.
#ifndef COUNTRACE_BASE_POSIX_OUTPUT_WIDTH_H_
#define COUNTRACE_BASE_POSIX_OUTPUT_WIDTH_H_

#include <cstddef>
#include <limits>

namespace countrace::base {

inline constexpr std::size_t kAnyWidth =
    std::numeric_limits<std::size_t>::max();

// COLUMNS, if it is set; else the width of the terminal at `descriptor`;
// kAnyWidth for a file or a pipe.
std::size_t OutputWidth(int descriptor);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_OUTPUT_WIDTH_H_
