// The messages of a filter's upstream, and rmap's results among them.
//
// rmap has the result for a thread only after all its records, so upstream is
// read twice: once for rmap, once to pass it on. An upstream that cannot go
// back to its beginning (a trimmer) is kept in memory instead.
//
//   collect --(upstream has ended, rmap is done)--> begin --> merge --> end
//
// In: a message iterator. Out: messages, in time order. Thread: the graph's.
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_RMAP_MESSAGES_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_RMAP_MESSAGES_H_

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <deque>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/read/trace_reader.h"
#include "rmap/babeltrace_plugin/span_events.h"
#include "rmap/babeltrace_plugin/span_spool.h"
#include "rmap/babeltrace_plugin/trace_collection.h"

namespace countrace::rmap::babeltrace_plugin {

// The component; outlives its message iterators.
struct RmapFilter {
  bt_self_component_filter* self;
  importer::Mapping mapping;
};

class RmapMessages {
 public:
  RmapMessages(bt_self_message_iterator* self, const RmapFilter& filter)
      : self_(self), filter_(filter) {}
  RmapMessages(const RmapMessages&) = delete;
  RmapMessages& operator=(const RmapMessages&) = delete;
  ~RmapMessages() {
    DropWaiting();
    if (upstream_ != nullptr) bt_message_iterator_put_ref(upstream_);
  }

  absl::Status Connect(bt_self_message_iterator_configuration* configuration);
  // Fills in the next messages; none at the end.
  absl::Status Next(bt_message_array_const messages, std::uint64_t capacity,
                    std::uint64_t* count);
  absl::StatusOr<bool> CanSeekBeginning();
  absl::Status SeekBeginning();

  static RmapMessages* Of(bt_self_message_iterator* self) {
    return static_cast<RmapMessages*>(bt_self_message_iterator_get_data(self));
  }

 private:
  enum class State : std::uint8_t {
    kCollect,  // upstream goes to rmap
    kBegin,    // next: the beginning of the added stream
    kMerge,
    kEnd,  // everything was passed on
  };

  absl::Status Collect();
  absl::Status FindSpans();
  absl::Status StartMerge();
  // Puts the next batch of upstream into waiting_. False: there is none.
  absl::StatusOr<bool> Fetch();
  // Returns null after the last upstream message.
  absl::StatusOr<const bt_message*> Front();
  absl::StatusOr<const bt_message*> NextOfBoth();
  absl::Status ReadSpan();
  absl::StatusOr<const bt_message*> Made(const bt_message* message);
  void DropWaiting() {
    for (const bt_message* message : waiting_) bt_message_put_ref(message);
    waiting_.clear();
  }

  bt_self_message_iterator* self_;
  const RmapFilter& filter_;
  bt_message_iterator* upstream_ = nullptr;
  bool can_go_back_ = false;
  State state_ = State::kCollect;
  bool upstream_ended_ = false;
  std::deque<const bt_message*> waiting_;  // references
  std::int64_t upstream_ns_ = INT64_MIN;   // time of the last one passed on
  std::unique_ptr<TraceCollection> trace_;
  std::unique_ptr<logformat::TraceReader>
      reader_;  // open while the collected trace is read
  std::unique_ptr<SpanSpool> spool_;
  std::unique_ptr<SpanEvents> events_;
  std::int64_t origin_ns_ = 0;
  bool has_span_ = false;
  SpooledSpan span_;
};

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_RMAP_MESSAGES_H_
