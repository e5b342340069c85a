// What the terminal can do, asked once, in one place.
#ifndef COUNTRACE_CLI_TERMINAL_H_
#define COUNTRACE_CLI_TERMINAL_H_

#include <cstddef>
#include <string_view>

namespace countrace::cli {

bool IsTerminal(int descriptor);

// Columns of the terminal on stdout; 100 if it is none.
std::size_t TerminalWidth();

// `choice` is the value of --color: "always" and "never" decide; "auto" means:
// NO_COLOR (not empty) or TERM=dumb no, else CLICOLOR_FORCE yes, else whether
// stdout is a terminal.
bool UseColor(std::string_view choice);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_TERMINAL_H_
