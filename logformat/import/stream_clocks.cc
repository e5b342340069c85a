#include "logformat/import/stream_clocks.h"

#include <cstring>
#include <string>

#include "absl/strings/str_format.h"

namespace countrace::importer {

namespace {

const bt_clock_snapshot* SnapshotOf(const bt_message& message) {
  switch (bt_message_get_type(&message)) {
    case BT_MESSAGE_TYPE_EVENT:
      return bt_message_event_borrow_default_clock_snapshot_const(&message);
    case BT_MESSAGE_TYPE_PACKET_BEGINNING: {
      const bt_stream_class* type =
          bt_stream_borrow_class_const(bt_packet_borrow_stream_const(
              bt_message_packet_beginning_borrow_packet_const(&message)));
      return bt_stream_class_packets_have_beginning_default_clock_snapshot(type)
                 ? bt_message_packet_beginning_borrow_default_clock_snapshot_const(
                       &message)
                 : nullptr;
    }
    case BT_MESSAGE_TYPE_PACKET_END: {
      const bt_stream_class* type =
          bt_stream_borrow_class_const(bt_packet_borrow_stream_const(
              bt_message_packet_end_borrow_packet_const(&message)));
      return bt_stream_class_packets_have_end_default_clock_snapshot(type)
                 ? bt_message_packet_end_borrow_default_clock_snapshot_const(
                       &message)
                 : nullptr;
    }
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS: {
      const bt_stream_class* type = bt_stream_borrow_class_const(
          bt_message_discarded_events_borrow_stream_const(&message));
      return bt_stream_class_discarded_events_have_default_clock_snapshots(type)
                 ? bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(
                       &message)
                 : nullptr;
    }
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS: {
      const bt_stream_class* type = bt_stream_borrow_class_const(
          bt_message_discarded_packets_borrow_stream_const(&message));
      return bt_stream_class_discarded_packets_have_default_clock_snapshots(
                 type)
                 ? bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(
                       &message)
                 : nullptr;
    }
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
    case BT_MESSAGE_TYPE_STREAM_END:
    case BT_MESSAGE_TYPE_MESSAGE_ITERATOR_INACTIVITY:
      break;
  }
  return nullptr;
}

// Exact; the library computes in doubles if a clock does not tick in ns. False:
// beyond 2^63.
bool NsFromOrigin(const bt_clock_snapshot& snapshot, std::int64_t& time_ns) {
  const bt_clock_class& clock =
      *bt_clock_snapshot_borrow_clock_class_const(&snapshot);
  const std::uint64_t frequency = bt_clock_class_get_frequency(&clock);
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  if (frequency == kNsPerSecond || frequency == 0) {
    const bool ok = bt_clock_snapshot_get_ns_from_origin(&snapshot, &time_ns) ==
                    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK;
    if (!ok) bt_current_thread_clear_error();
    return ok;
  }
  std::int64_t seconds = 0;
  std::uint64_t cycles = 0;
  bt_clock_class_get_offset(&clock, &seconds, &cycles);
  const __int128 ns =
      __int128{seconds} * kNsPerSecond +
      (__int128{cycles} + bt_clock_snapshot_get_value(&snapshot)) *
          kNsPerSecond / frequency;
  if (ns < INT64_MIN || ns > INT64_MAX) return false;
  time_ns = static_cast<std::int64_t>(ns);
  return true;
}

std::string ClockName(const bt_clock_class& clock) {
  const char* name = bt_clock_class_get_name(&clock);
  std::string text = name == nullptr ? "(no name)" : name;
  if (bt_clock_class_origin_is_unix_epoch(&clock)) return text + ", absolute";
  const bt_uuid uuid = bt_clock_class_get_uuid(&clock);
  if (uuid == nullptr) return text + ", without a uuid";
  text += ", uuid ";
  for (int i = 0; i < 16; ++i) absl::StrAppendFormat(&text, "%02x", uuid[i]);
  return text;
}

// Same rule as in the library's own muxer.
bool OneTimeline(const bt_clock_class& a, const bt_clock_class& b) {
  const bool epoch = bt_clock_class_origin_is_unix_epoch(&a) != 0;
  if (epoch != (bt_clock_class_origin_is_unix_epoch(&b) != 0)) return false;
  if (epoch) return true;
  const bt_uuid uuid_a = bt_clock_class_get_uuid(&a);
  const bt_uuid uuid_b = bt_clock_class_get_uuid(&b);
  if ((uuid_a == nullptr) != (uuid_b == nullptr)) return false;
  return uuid_a == nullptr || std::memcmp(uuid_a, uuid_b, 16) == 0;
}

}  // namespace

absl::StatusOr<std::optional<std::int64_t>> TimeOf(const bt_message& message) {
  const bt_clock_snapshot* snapshot = SnapshotOf(message);
  if (snapshot == nullptr) return std::nullopt;
  std::int64_t time_ns = 0;
  if (!NsFromOrigin(*snapshot, time_ns)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "A time of clock %s is beyond 2^63 ns from its origin: value=%d",
        ClockName(*bt_clock_snapshot_borrow_clock_class_const(snapshot)),
        bt_clock_snapshot_get_value(snapshot)));
  }
  return time_ns;
}

bool HaveClocks(const std::vector<const bt_stream*>& streams) {
  bool any = false;
  for (const bt_stream* stream : streams) {
    if (stream == nullptr) continue;
    any = true;
    if (bt_stream_class_borrow_default_clock_class_const(
            bt_stream_borrow_class_const(stream)) != nullptr) {
      return true;
    }
  }
  return !any;
}

absl::Status CheckClocks(const std::vector<const bt_stream*>& streams) {
  const bt_clock_class* first = nullptr;
  if (!HaveClocks(streams)) return absl::OkStatus();
  for (const bt_stream* stream : streams) {
    if (stream == nullptr) continue;
    const bt_stream_class* type = bt_stream_borrow_class_const(stream);
    const bt_clock_class* clock =
        bt_stream_class_borrow_default_clock_class_const(type);
    if (clock == nullptr) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "Stream %s (class %d) has no clock and others have one: without "
          "times they cannot be put in order; read the traces one by one",
          bt_stream_get_name(stream) == nullptr ? "(no name)"
                                                : bt_stream_get_name(stream),
          bt_stream_class_get_id(type)));
    }
    if (first == nullptr) first = clock;
    if (!OneTimeline(*first, *clock)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "The streams have clocks that share no timeline: %s and %s; read the "
          "traces one by one",
          ClockName(*first), ClockName(*clock)));
    }
  }
  return absl::OkStatus();
}

}  // namespace countrace::importer
