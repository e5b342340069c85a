// What users wrote at instants of a trace: a hidden file in the trace's
// directory, or, where that cannot be written, a file in the user's cache that
// is named by the trace's UUID.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_TRACE_NOTES_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_TRACE_NOTES_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

inline constexpr std::size_t kMostNotes = 500;
inline constexpr std::size_t kMostNoteBytes = 1000;  // of a text
// The file has so many: a request holds the notes before and after a change.
inline constexpr std::size_t kMostNotesBytes = std::size_t{110} << 10;

// A list of {"at": ns since the trace's begin, "text"}; empty: there is no
// file. Errors: FAILED_PRECONDITION the file is something else, with its name.
absl::StatusOr<nlohmann::json> ReadNotes(const std::string& trace_path,
                                         const Fingerprint& trace);
// Replaces them. Errors: INVALID_ARGUMENT it is no such list, or too long;
// ABORTED the file no longer has `before`; of writing.
absl::Status WriteNotes(const std::string& trace_path, const Fingerprint& trace,
                        const nlohmann::json& before,
                        const nlohmann::json& notes);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_TRACE_NOTES_H_
