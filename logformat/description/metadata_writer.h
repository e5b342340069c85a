// TSDL 1.8 text of a trace: it makes the directory readable by babeltrace2 and
// every other CTF reader (FORMAT.md, section 5).
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_WRITER_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "logformat/description/trace_description.h"

namespace countrace::logformat {

// The same description always gives the same text. The env block, which our own
// reader reads, comes last, so that a cut file is detected.
std::string MetadataText(const TraceDescription& description);

// FNV-1a 64, of the text before the line that holds it.
std::uint64_t TextChecksum(std::string_view text);

// A TSDL string literal with its quotes.
std::string TsdlString(std::string_view bytes);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_WRITER_H_
