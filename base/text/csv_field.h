// A field of comma-separated values.
#ifndef COUNTRACE_BASE_TEXT_CSV_FIELD_H_
#define COUNTRACE_BASE_TEXT_CSV_FIELD_H_

#include <string>
#include <string_view>

namespace countrace::base {

// `text`, in quotes where RFC 4180, section 2, requires them: if it holds a
// comma, a quote or a line break. Quotes are doubled. Names go through
// EscapeName() first. A text that a spreadsheet would take for a formula, as it
// begins with = + - @ and is no number, gets an apostrophe before it.
std::string CsvField(std::string_view text);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_CSV_FIELD_H_
