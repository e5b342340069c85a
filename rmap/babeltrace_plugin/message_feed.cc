#include "rmap/babeltrace_plugin/message_feed.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "logformat/import/ctf/process_peek.h"
#include "logformat/import/stream_clocks.h"
#include "logformat/session_layout.h"

namespace countrace::rmap::babeltrace_plugin {

namespace fs = std::filesystem;

namespace {

// Returns null for a message that belongs to no stream.
const bt_stream* StreamOf(const bt_message& message) {
  switch (bt_message_get_type(&message)) {
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
      return bt_message_stream_beginning_borrow_stream_const(&message);
    case BT_MESSAGE_TYPE_STREAM_END:
      return bt_message_stream_end_borrow_stream_const(&message);
    case BT_MESSAGE_TYPE_EVENT:
      return bt_event_borrow_stream_const(
          bt_message_event_borrow_event_const(&message));
    case BT_MESSAGE_TYPE_PACKET_BEGINNING:
      return bt_packet_borrow_stream_const(
          bt_message_packet_beginning_borrow_packet_const(&message));
    case BT_MESSAGE_TYPE_PACKET_END:
      return bt_packet_borrow_stream_const(
          bt_message_packet_end_borrow_packet_const(&message));
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
      return bt_message_discarded_events_borrow_stream_const(&message);
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
      return bt_message_discarded_packets_borrow_stream_const(&message);
    case BT_MESSAGE_TYPE_MESSAGE_ITERATOR_INACTIVITY:
      break;
  }
  return nullptr;
}

bool IsAdded(const bt_trace& trace) {
  const bt_value* value = bt_trace_borrow_environment_entry_value_by_name_const(
      &trace, "tracer_name");
  return value != nullptr && bt_value_get_type(value) == BT_VALUE_TYPE_STRING &&
         std::string_view(bt_value_string_get(value)) == kAddedTracer;
}

// The directory of a stream's file, whose path is its name.
fs::path DirectoryOf(const bt_stream* stream) {
  const char* name = bt_stream_get_name(stream);
  return name == nullptr ? fs::path() : fs::path(name).parent_path();
}

}  // namespace

MessageFeed::~MessageFeed() {
  for (const bt_message* message : held_) bt_message_put_ref(message);
  for (const bt_stream* stream : streams_) bt_stream_put_ref(stream);
}

void MessageFeed::Note(const bt_stream* stream) {
  if (inputs_.contains(stream) ||
      IsAdded(*bt_stream_borrow_trace_const(stream))) {
    return;
  }
  inputs_[stream] = {streams_.size()};
  bt_stream_get_ref(stream);
  streams_.push_back(stream);
}

absl::Status MessageFeed::Start() {
  started_ = true;
  std::set<const bt_trace*> traces;
  bool kernel = false;
  for (const bt_stream* stream : streams_) {
    const bt_trace* trace = bt_stream_borrow_trace_const(stream);
    traces.insert(trace);
    kernel |= importer::IsKernelTrace(*trace);
  }
  for (const bt_trace* trace : traces) {
    const std::uint64_t count = bt_trace_get_stream_count(trace);
    for (std::uint64_t i = 0; i < count; ++i) {
      Note(bt_trace_borrow_stream_by_index_const(trace, i));
    }
  }
  if (absl::Status status = importer::CheckClocks(streams_); !status.ok())
    return status;
  if (kernel) {
    // The same as in import; only for traces that are files.
    std::set<std::string> directories;
    for (const bt_stream* stream : streams_) {
      const fs::path directory = DirectoryOf(stream);
      std::error_code error;
      if (fs::is_regular_file(directory / logformat::kMetadataFile, error)) {
        directories.insert(directory.string());
      }
    }
    for (const auto& [tid, pid] :
         importer::PeekProcesses({directories.begin(), directories.end()})) {
      conversion_.SetProcess(tid, pid);
    }
  }
  absl::Status status = conversion_.OnStreams(streams_);
  for (const bt_message* message : held_) {
    if (status.ok()) status = Pass(*message, StreamOf(*message));
    bt_message_put_ref(message);
  }
  held_.clear();
  return status;
}

absl::Status MessageFeed::Pass(const bt_message& message,
                               const bt_stream* stream) {
  auto found = inputs_.find(stream);
  if (found == inputs_.end()) {
    Note(stream);
    found = inputs_.find(stream);
    if (found == inputs_.end())
      return absl::OkStatus();  // a stream that the filter added
    absl::Status status = importer::CheckClocks({streams_.front(), stream});
    if (status.ok()) status = conversion_.OnLateStream(*stream);
    if (!status.ok()) return status;
  }
  Input& input = found->second;
  const auto time_ns = importer::TimeOf(message);
  if (!time_ns.ok()) return time_ns.status();
  if (*time_ns) input.time_ns = std::max(input.time_ns, **time_ns);
  return conversion_.OnMessage(message, input.time_ns, input.number);
}

absl::Status MessageFeed::Take(const bt_message& message) {
  const bt_stream* stream = StreamOf(message);
  if (stream == nullptr) return absl::OkStatus();
  if (!started_) {
    if (bt_message_get_type(&message) == BT_MESSAGE_TYPE_STREAM_BEGINNING) {
      Note(stream);
      held_.push_back(&message);
      bt_message_get_ref(&message);
      return absl::OkStatus();
    }
    Note(stream);
    if (streams_.empty()) return absl::OkStatus();
    if (absl::Status status = Start(); !status.ok()) return status;
  }
  return Pass(message, stream);
}

absl::Status MessageFeed::Finish() {
  if (started_) return absl::OkStatus();
  if (streams_.empty()) {
    return absl::InvalidArgumentError(
        "No stream came: nothing was recorded, or a filter left nothing");
  }
  return Start();
}

std::string MessageFeed::SourcePath() const {
  fs::path all;
  for (const bt_stream* stream : streams_) {
    const fs::path directory = DirectoryOf(stream);
    if (directory.empty()) return "babeltrace2";
    if (all.empty()) {
      all = directory;
      continue;
    }
    fs::path shared;
    for (auto a = all.begin(), b = directory.begin();
         a != all.end() && b != directory.end() && *a == *b; ++a, ++b) {
      shared /= *a;
    }
    all = shared;
  }
  return all.empty() ? "babeltrace2" : all.string();
}

}  // namespace countrace::rmap::babeltrace_plugin
