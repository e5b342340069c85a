// What lies in a trace directory: stream files, hidden files, the recorder's
// lock (FORMAT.md, sections 1 and 6).
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DIRECTORY_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/description/trace_description.h"
#include "logformat/packet_layout.h"

namespace countrace::logformat {

// Stream files rewritten by recover before they take their name.
inline constexpr char kRewritePrefix[] = ".rewrite-";
inline constexpr char kMetadataTemporary[] = ".metadata-new";

struct StreamFile {
  std::string name;
  StreamClass stream_class;
};

struct TraceDirectory {
  std::string path;
  std::vector<StreamFile> streams;  // cpu streams first, by number, then name
  std::vector<std::string> strangers;    // visible files that are not ours
  std::vector<std::string> temporaries;  // left by a killed recover
  bool has_metadata = false;
  bool has_session = false;
  bool incomplete = false;  // `.incomplete` is present
  bool locked = false;      // and a recorder holds it
};

// Returns: NOT_FOUND; INVALID_ARGUMENT a file (says of which kind), or a
// directory that is no countrace trace; PERMISSION_DENIED.
absl::StatusOr<TraceDirectory> ListTraceDirectory(const std::string& path);

// Description of the trace: of a finished one from `metadata`, else from the
// session files. `metadata` that is already there with the session's uuid is
// the later word: finishing was interrupted after it.
absl::StatusOr<TraceDescription> DescribeTrace(const TraceDirectory& directory);

// One message for each stream file that a finished trace had and that is gone.
std::vector<std::string> MissingStreams(const TraceDirectory& directory,
                                        const TraceDescription& description);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DIRECTORY_H_
