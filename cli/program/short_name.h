// Names of code cut to the width of a terminal. Thread: any.
#ifndef COUNTRACE_CLI_PROGRAM_SHORT_NAME_H_
#define COUNTRACE_CLI_PROGRAM_SHORT_NAME_H_

#include <cstddef>
#include <string>

namespace countrace::cli {

// A function's name in at most `columns` bytes: first without
// its arguments and those of its templates, "(...)" and "<...>", then without
// its end. Blanks before it are kept.
std::string ShortFunction(const std::string& name, std::size_t columns);

// A path in at most `columns` bytes: its end, behind "...".
std::string ShortPath(const std::string& path, std::size_t columns);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_SHORT_NAME_H_
