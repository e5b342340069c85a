// Names from a trace are untrusted: what could drive a terminal is made
// visible.
#ifndef COUNTRACE_CLI_ESCAPE_TEXT_H_
#define COUNTRACE_CLI_ESCAPE_TEXT_H_

#include <string>
#include <string_view>

namespace countrace::cli {

// Control characters (newline excepted), DEL, C1 controls, bidirectional marks
// and bytes that are not UTF-8 become \xNN, byte by byte; the rest stays.
std::string EscapeText(std::string_view text);

// A JSON string literal, quotes included. Bytes that are not UTF-8 become
// U+FFFD: JSON has no way to say them.
std::string JsonString(std::string_view text);

// A CSV field, quoted where RFC 4180 asks for it.
std::string CsvField(std::string_view text);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_ESCAPE_TEXT_H_
