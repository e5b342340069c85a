// What the terminal supports, read in one place.
#ifndef COUNTRACE_CLI_PROGRAM_TERMINAL_H_
#define COUNTRACE_CLI_PROGRAM_TERMINAL_H_

#include <string_view>

namespace countrace::cli {

bool IsTerminal(int descriptor);

// `choice` is the value of --color: "always" and "never" decide. For "auto":
// NO_COLOR (not empty) or TERM=dumb means no, else CLICOLOR_FORCE means yes,
// else yes if stdout is a terminal.
bool UseColor(std::string_view choice);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_TERMINAL_H_
