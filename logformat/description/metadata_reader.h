// Strict reader of the metadata text that countrace writes: trace uuid and env
// block. It is not a TSDL parser; the event classes follow from the env block.
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_READER_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_READER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "logformat/description/trace_description.h"

namespace countrace::logformat {

// `text` is untrusted. `path` is for messages only.
//
// Returns: INVALID_ARGUMENT a CTF trace of another tracer, or no CTF metadata;
// UNIMPLEMENTED a newer countrace format; DATA_LOSS a countrace trace, but cut
// or damaged (the message gives the offset).
absl::StatusOr<TraceDescription> ParseMetadata(std::string_view text,
                                               const std::string& path);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_READER_H_
