// What users wrote at instants of a trace: a hidden file in the trace's
// directory, or, where that cannot be written, in the user's cache, beside
// where its index is (viewer/index/open/open_or_build.h).
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_TRACE_NOTES_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_TRACE_NOTES_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace countrace::viewer {

inline constexpr std::size_t kMostNotes = 500;
inline constexpr std::size_t kMostNoteBytes = 1000;  // of a text
inline constexpr std::size_t kMostNotesBytes = std::size_t{240} << 10;

// A list of {"at": ns since the trace's begin, "text"}, as JSON; "[]": there is
// no file. Errors: FAILED_PRECONDITION the file is something else, with its
// name.
absl::StatusOr<std::string> ReadNotes(const std::string& trace_path);
// Replaces them. Errors: INVALID_ARGUMENT it is no such list; ABORTED the file
// no longer has `before`; of writing.
absl::Status WriteNotes(const std::string& trace_path, std::string_view before,
                        std::string_view notes);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_TRACE_NOTES_H_
