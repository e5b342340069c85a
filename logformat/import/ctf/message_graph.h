// Reads CTF traces through libbabeltrace2 and delivers their messages, merged
// by time.
//
// In: directories that hold a `metadata` file each. Out: messages. Thread: one.
// The library may fail in any way on damaged input: run this in a process that
// may die (import_process.h). The rules of its muxer decide which clocks share
// a timeline; its muxer itself is not used, because it examines every stream
// for every message.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_MESSAGE_GRAPH_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_MESSAGE_GRAPH_H_

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace countrace::importer {

class MessageReceiver {
 public:
  virtual ~MessageReceiver() = default;
  // `time_ns` since the origin of the clocks; a message without a time has that
  // of the previous one in its stream. `input` numbers the streams. An error
  // ends the reading.
  virtual absl::Status OnMessage(const bt_message& message,
                                 std::int64_t time_ns, std::size_t input) = 0;
  // Called before the first OnMessage(), when each stream's first messages were
  // read: their clocks and classes are known.
  virtual absl::Status OnStreams(
      const std::vector<const bt_stream*>& streams) = 0;
};

// Loads the library's reader of CTF, which ReadMessages() does otherwise: for a
// process that will not be able to.
absl::Status LoadCtfReader();

// Nanoseconds since the origin of the clocks. begin_ns > end_ns: not known.
struct TimeRange {
  std::int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
};
struct SourceExtent {
  TimeRange range;
  // ReadMessages() keeps a file of each open. A stream may have several.
  std::size_t streams = 0;
};

// From the heads of the packets. Nothing is known of a trace that the library
// cannot read, and no range of packets without times.
SourceExtent FindExtent(const std::vector<std::string>& directories);

// Returns: INVALID_ARGUMENT the library's error, or streams whose clocks are
// unrelated; the errors of `receiver`.
absl::Status ReadMessages(const std::vector<std::string>& directories,
                          MessageReceiver& receiver);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_MESSAGE_GRAPH_H_
