// Messages from upstream, already in time order, to a Conversion; finds the
// streams there are.
//
// The muxer sends the beginnings of all streams before anything else; behind a
// trimmer a stream begins with its first message. So the conversion starts with
// the streams that have begun and all others of their traces; later streams are
// added.
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

// Environment entry `tracer_name` of the trace that filter.countrace.rmap adds;
// its messages are results, not records.
inline constexpr char kAddedTracer[] = "countrace_rmap";

class MessageFeed {
 public:
  explicit MessageFeed(importer::Conversion& conversion)
      : conversion_(conversion) {}
  MessageFeed(const MessageFeed&) = delete;
  MessageFeed& operator=(const MessageFeed&) = delete;
  ~MessageFeed();

  absl::Status Take(const bt_message& message);
  // Call after the last message. Errors: INVALID_ARGUMENT without any stream.
  absl::Status Finish();
  // Requires: Finish() returned OK.
  const bt_clock_class* clock() const {
    return bt_stream_class_borrow_default_clock_class_const(
        bt_stream_borrow_class_const(streams_.front()));
  }
  // The directory of the traces, from the names of their streams: one that
  // contains all traces, or the source they came from.
  std::string SourcePath() const;

 private:
  struct Input {
    std::size_t number;
    std::int64_t time_ns = INT64_MIN;
  };

  // Adds a stream, unless it is there already or added by the filter.
  void Note(const bt_stream* stream);
  absl::Status Start();
  absl::Status Pass(const bt_message& message, const bt_stream* stream);

  importer::Conversion& conversion_;
  std::vector<const bt_stream*> streams_;  // in order of input; references
  absl::flat_hash_map<const bt_stream*, Input> inputs_;
  std::vector<const bt_message*>
      held_;  // held back until the start; references
  bool started_ = false;
};

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_MESSAGE_FEED_H_
