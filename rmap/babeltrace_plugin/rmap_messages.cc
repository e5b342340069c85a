#include "rmap/babeltrace_plugin/rmap_messages.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "logformat/import/stream_clocks.h"
#include "rmap/tables/input/attribution.h"

namespace countrace::rmap::babeltrace_plugin {

absl::Status RmapMessages::Connect(
    bt_self_message_iterator_configuration* configuration) {
  bt_self_component_port_input* port =
      bt_self_component_filter_borrow_input_port_by_index(filter_.self, 0);
  if (!bt_port_is_connected(bt_self_component_port_as_port(
          bt_self_component_port_input_as_self_component_port(port)))) {
    return absl::FailedPreconditionError(
        "The input port `in` of filter.countrace.rmap is not connected; of "
        "several sources a muxer makes one");
  }
  if (bt_message_iterator_create_from_message_iterator(self_, port,
                                                       &upstream_) !=
      BT_MESSAGE_ITERATOR_CREATE_FROM_MESSAGE_ITERATOR_STATUS_OK) {
    return absl::InternalError("Cannot read the input port `in`");
  }
  bt_self_message_iterator_configuration_set_can_seek_forward(
      configuration, bt_message_iterator_can_seek_forward(upstream_));
  return absl::OkStatus();
}

absl::StatusOr<bool> RmapMessages::CanSeekBeginning() {
  bt_bool can = BT_FALSE;
  switch (bt_message_iterator_can_seek_beginning(upstream_, &can)) {
    case BT_MESSAGE_ITERATOR_CAN_SEEK_BEGINNING_STATUS_OK:
      return can != BT_FALSE;
    case BT_MESSAGE_ITERATOR_CAN_SEEK_BEGINNING_STATUS_AGAIN:
      return absl::CancelledError("upstream has nothing yet");
    default:
      return absl::InternalError("Cannot ask whether upstream can go back");
  }
}

absl::Status RmapMessages::SeekBeginning() {
  DropWaiting();
  upstream_ended_ = false;
  upstream_ns_ = INT64_MIN;
  switch (bt_message_iterator_seek_beginning(upstream_)) {
    case BT_MESSAGE_ITERATOR_SEEK_BEGINNING_STATUS_OK:
      break;
    case BT_MESSAGE_ITERATOR_SEEK_BEGINNING_STATUS_AGAIN:
      return absl::CancelledError("upstream has nothing yet");
    default:
      return absl::InternalError("Upstream cannot go back to its beginning");
  }
  if (state_ != State::kCollect) return StartMerge();
  reader_.reset();
  trace_.reset();
  return absl::OkStatus();
}

absl::StatusOr<bool> RmapMessages::Fetch() {
  if (upstream_ended_) return false;
  bt_message_array_const messages = nullptr;
  std::uint64_t count = 0;
  switch (bt_message_iterator_next(upstream_, &messages, &count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
      waiting_.insert(waiting_.end(), messages, messages + count);
      return true;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
      upstream_ended_ = true;
      // babeltrace2 2.0 can end a damaged stream and leave an error behind,
      // with which the next call of its functions would abort.
      bt_current_thread_clear_error();
      return false;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
      return absl::CancelledError("upstream has nothing yet");
    default:
      return absl::InvalidArgumentError("Cannot read the messages to the end");
  }
}

absl::Status RmapMessages::Collect() {
  if (trace_ == nullptr) {
    const auto can = CanSeekBeginning();
    if (!can.ok()) return can.status();
    can_go_back_ = *can;
    auto trace = TraceCollection::Create(filter_.mapping);
    if (!trace.ok()) return trace.status();
    trace_ = *std::move(trace);
  }
  for (;;) {
    if (bt_self_message_iterator_is_interrupted(self_)) {
      return absl::CancelledError("interrupted");
    }
    const std::size_t before = waiting_.size();
    const auto more = Fetch();
    if (!more.ok()) return more.status();
    if (!*more) break;
    for (std::size_t i = before; i < waiting_.size(); ++i) {
      absl::Status status = trace_->Take(*waiting_[i]);
      if (!status.ok()) return status;
    }
    if (can_go_back_) DropWaiting();
  }
  if (absl::Status status = FindSpans(); !status.ok()) return status;
  state_ = State::kBegin;
  return can_go_back_ ? SeekBeginning() : StartMerge();
}

absl::Status RmapMessages::FindSpans() {
  // It exists already if an interruption ended the previous attempt.
  if (reader_ == nullptr) {
    auto reader = trace_->Finish();
    if (!reader.ok()) return reader.status();
    reader_ = *std::move(reader);
  }
  if (absl::Status status = CheckTimes(
          reader_->info(), "there is no interval that could be added");
      !status.ok()) {
    return status;
  }
  auto spool = SpanSpool::Create(reader_->directory(), reader_->info());
  if (!spool.ok()) return spool.status();
  spool_ = *std::move(spool);
  const auto report = ReconstructUnless(
      [this] { return bt_self_message_iterator_is_interrupted(self_) != 0; },
      *reader_, spool_.get());
  if (!report.ok()) return report.status();
  std::vector<rmap::EventPlan> plans = PlanEvents(reader_->info());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].source = report->events[i].segment_source;
  }
  origin_ns_ = trace_->origin_ns();
  events_ = std::make_unique<SpanEvents>(
      bt_self_message_iterator_borrow_component(self_), *trace_->clock(),
      origin_ns_, *report, std::move(plans));
  reader_.reset();
  return absl::OkStatus();
}

absl::Status RmapMessages::StartMerge() {
  state_ = State::kBegin;
  if (absl::Status status = spool_->Rewind(); !status.ok()) return status;
  events_->Restart();
  return ReadSpan();
}

absl::Status RmapMessages::ReadSpan() {
  const auto more = spool_->Next(span_);
  has_span_ = more.ok() && *more;
  return more.status();
}

absl::StatusOr<const bt_message*> RmapMessages::Front() {
  while (waiting_.empty()) {
    const auto more = Fetch();
    if (!more.ok()) return more.status();
    if (!*more) return nullptr;
  }
  return waiting_.front();
}

absl::StatusOr<const bt_message*> RmapMessages::Made(
    const bt_message* message) {
  if (message != nullptr) return message;
  return absl::ResourceExhaustedError("No memory for a message");
}

// A span follows all upstream messages of its end time or earlier.
absl::StatusOr<const bt_message*> RmapMessages::NextOfBoth() {
  const auto front = Front();
  if (!front.ok()) return front.status();
  if (*front != nullptr) {
    const auto time_ns = importer::TimeOf(**front);
    if (!time_ns.ok()) return time_ns.status();
    const std::int64_t now_ns =
        std::max(upstream_ns_, time_ns->value_or(upstream_ns_));
    if (!has_span_ || now_ns == INT64_MIN ||
        now_ns - origin_ns_ <= static_cast<std::int64_t>(span_.head.end_ns)) {
      upstream_ns_ = now_ns;
      waiting_.pop_front();
      return *front;
    }
  }
  if (!has_span_) {
    state_ = State::kEnd;
    return Made(events_->End(self_));
  }
  auto message = Made(events_->Event(self_, *spool_, span_));
  if (!message.ok()) return message;
  if (absl::Status status = ReadSpan(); !status.ok()) {
    bt_message_put_ref(*message);
    return status;
  }
  return message;
}

absl::Status RmapMessages::Next(bt_message_array_const messages,
                                std::uint64_t capacity, std::uint64_t* count) {
  *count = 0;
  if (state_ == State::kCollect) {
    if (absl::Status status = Collect(); !status.ok()) return status;
  }
  while (*count < capacity && state_ != State::kEnd) {
    const bool begin = state_ == State::kBegin;
    if (begin) state_ = State::kMerge;
    const auto message = begin ? Made(events_->Beginning(self_)) : NextOfBoth();
    // Return the messages so far first; the library calls again for the rest.
    if (absl::IsCancelled(message.status()) && *count != 0) break;
    if (!message.ok()) {
      while (*count > 0) bt_message_put_ref(messages[--*count]);
      return message.status();
    }
    messages[(*count)++] = *message;
  }
  return absl::OkStatus();
}

}  // namespace countrace::rmap::babeltrace_plugin
