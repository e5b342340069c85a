// Reads CTF traces through libbabeltrace2 and hands out their messages, merged
// by time.
//
// In: directories that hold a `metadata` file each. Out: messages. Thread: one.
// What the library does on damaged input is its own: run this in a process that
// may die (import_process.h). Its muxer's rules decide which clocks share a
// timeline; its muxer itself is not used, because it looks at every stream for
// every message.
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
  // `time_ns` since the origin of the clocks; of a message without a time that
  // of the last one of its stream. `input` numbers the streams.
  // An error ends the reading.
  virtual absl::Status OnMessage(const bt_message& message,
                                 std::int64_t time_ns, std::size_t input) = 0;
  // Every stream's first messages were read: their clocks and classes are
  // known. Before the first OnMessage().
  virtual absl::Status OnStreams(
      const std::vector<const bt_stream*>& streams) = 0;
};

// Returns: INVALID_ARGUMENT what the library says of the trace, or streams
// whose clocks have nothing to do with each other; what `receiver` returns.
absl::Status ReadMessages(const std::vector<std::string>& directories,
                          MessageReceiver& receiver);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_MESSAGE_GRAPH_H_
