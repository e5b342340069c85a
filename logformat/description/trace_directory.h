// The files in a trace directory: stream files, hidden files, the recorder's
// lock (FORMAT.md, sections 1 and 6).
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DIRECTORY_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/description/trace_description.h"
#include "logformat/packet_layout.h"

namespace countrace::logformat {

// recover rewrites a stream to a file with this prefix, then renames it.
inline constexpr char kRewritePrefix[] = ".rewrite-";
inline constexpr char kMetadataTemporary[] = ".metadata-new";
// A stream that could not be finished is renamed to a file with this prefix.
inline constexpr char kUnreadPrefix[] = ".unread-";

struct StreamFile {
  std::string name;
  StreamClass stream_class;
};

struct TraceDirectory {
  std::string path;
  std::vector<StreamFile> streams;  // cpu, thread, clock; by number, then name
  std::vector<std::string>
      strangers;  // visible files that countrace did not write
  // Links, pipes and the like with the name of a stream: "cpu-1 is a symbolic
  // link". They are not opened.
  std::vector<std::string> not_files;
  std::vector<std::string> temporaries;   // left by a killed recover
  std::vector<std::string> user_folders;  // of other users, not yet adopted
  bool has_metadata = false;
  bool has_session = false;
  bool incomplete = false;  // `.incomplete` is present
  bool locked = false;      // and a recorder holds its lock
  bool copied = false;      // and is not the file that the recorder made
  // The streams may be newer than the hooks' files, and the end of a packet
  // newer than its begin (FORMAT.md, section 7).
  bool grows() const { return locked || copied; }
};

// What the recorder writes into `.incomplete`, whose inode's number this is. A
// copy has another one.
std::string IncompleteText(std::uint64_t inode);

// Returns: NOT_FOUND; INVALID_ARGUMENT a file (the message names its kind), or
// a directory that is no countrace trace; PERMISSION_DENIED.
absl::StatusOr<TraceDirectory> ListTraceDirectory(const std::string& path);

// Description of the trace: from `metadata` if it is finished, else from the
// session files. If `metadata` already exists with the session's uuid,
// finishing was interrupted after writing it: then `metadata` is used.
absl::StatusOr<TraceDescription> DescribeTrace(const TraceDirectory& directory);

// One message for each stream file of the finished trace that is missing, and
// for each that is no regular file.
std::vector<std::string> MissingStreams(const TraceDirectory& directory,
                                        const TraceDescription& description);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DIRECTORY_H_
