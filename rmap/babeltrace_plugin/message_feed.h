// Messages of a graph's upstream, already in the order of time, to a
// Conversion: finds out which streams there are.
//
// The muxer hands out the beginnings of all streams before anything else;
// behind a trimmer a stream begins with its first message. So the conversion
// starts with the streams that began, and all others of their traces; what
// begins later is added.
//
// In: messages. Out: calls of Conversion. Thread: one.
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_MESSAGE_FEED_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_MESSAGE_FEED_H_

#include <babeltrace2/babeltrace.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "logformat/import/ctf/conversion.h"

namespace countrace::rmap::babeltrace_plugin {

// Environment entry `tracer_name` of what filter.countrace.rmap adds: results,
// which are not taken for records.
inline constexpr char kAddedTracer[] = "countrace_rmap";

class MessageFeed {
 public:
  explicit MessageFeed(importer::Conversion& conversion)
      : conversion_(conversion) {}
  MessageFeed(const MessageFeed&) = delete;
  MessageFeed& operator=(const MessageFeed&) = delete;
  ~MessageFeed();

  absl::Status Take(const bt_message& message);
  // No more come. Returns: INVALID_ARGUMENT there was no stream.
  absl::Status Finish();
  // Requires: Finish() returned OK.
  const bt_clock_class* clock() const {
    return bt_stream_class_borrow_default_clock_class_const(
        bt_stream_borrow_class_const(streams_.front()));
  }
  // Where the traces are, as their streams' names say: a directory that has
  // them all in it; or what they came from.
  std::string SourcePath() const;

 private:
  struct Input {
    std::size_t number;
    std::int64_t time_ns = INT64_MIN;
  };

  // Keeps a stream, unless it is known or nobody's.
  void Note(const bt_stream* stream);
  absl::Status Start();
  absl::Status Pass(const bt_message& message, const bt_stream* stream);

  importer::Conversion& conversion_;
  std::vector<const bt_stream*> streams_;  // by input; references
  absl::flat_hash_map<const bt_stream*, Input> inputs_;
  std::vector<const bt_message*> held_;  // until the start; references
  bool started_ = false;
};

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_MESSAGE_FEED_H_
