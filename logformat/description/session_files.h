// Reads the files of a session that was not finished: `.session` and `.hooks`
// (session_layout.h). Both are untrusted: a writer may have died at any byte.
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_SESSION_FILES_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_SESSION_FILES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "logformat/description/trace_description.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {

// The session of a recording that has not begun: whole, and no process joins.
inline constexpr char kComingSessionFile[] = ".session.new";

// Description of the session in directory `path`. A torn last line of `.hooks`
// and a repeated id become TraceDescription::messages.
//
// Returns: NOT_FOUND no `.session`; DATA_LOSS it is damaged or cut.
absl::StatusOr<TraceDescription> ReadSessionFiles(const std::string& path);

// Adds the hooks in `text`, the content of `.hooks` (or of `file`, named in
// messages), to `description`, in ascending order of id.
void ParseHooks(std::string_view text, TraceDescription& description,
                const char* file = kHooksFile);

// Adds the names in `text`, the content of `.owners`.
void ParseOwners(std::string_view text, TraceDescription& description);

// Adds what `text`, the content of `.not_recorded`, names.
void ParseNotRecorded(std::string_view text, TraceDescription& description);

// Adds the triggers in `text`, the content of `.triggers`.
void ParseTriggers(std::string_view text, TraceDescription& description);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_SESSION_FILES_H_
