// Names from a trace are untrusted: this makes them safe to print.
#ifndef COUNTRACE_BASE_TEXT_NAME_ESCAPE_H_
#define COUNTRACE_BASE_TEXT_NAME_ESCAPE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace countrace::base {

// `name` on one line. Escapes all that a terminal acts on or that changes the
// look of the text around it: C0 and C1 controls, ESC, DEL, bidirectional and
// zero-width marks, line separators, tags (as \x1b or \u{202e}), and bytes that
// are not UTF-8 (as \xff). A backslash is doubled, so that the text is unique.
std::string EscapeName(std::string_view name);

// The same for a message of one or more lines whose names were escaped by
// EscapeName() already: newlines and backslashes stay. Not for table cells: a
// name with a newline would add a row.
std::string EscapeLines(std::string_view message);

// Columns of `text` on a terminal, one for each code point.
std::size_t DisplayColumns(std::string_view text);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_NAME_ESCAPE_H_
