#include "logformat/import/ctf/own_events.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/description/metadata_reader.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/import/field_values.h"

namespace countrace::importer {

using logformat::EventField;
using logformat::FieldType;
using logformat::StreamClass;

namespace {

std::string_view TextEntry(const bt_trace& trace, const char* name) {
  const bt_value* value =
      bt_trace_borrow_environment_entry_value_by_name_const(&trace, name);
  if (value == nullptr || bt_value_get_type(value) != BT_VALUE_TYPE_STRING) {
    return "";
  }
  return bt_value_string_get(value);
}

// The part of our metadata that ParseMetadata() reads: uuid, environment.
std::string DescriptionText(const bt_trace& trace) {
  logformat::Uuid uuid{};
  if (const bt_uuid bytes = bt_trace_get_uuid(&trace); bytes != nullptr) {
    std::memcpy(uuid.data(), bytes, uuid.size());
  }
  std::string text =
      absl::StrFormat("/* CTF 1.8 */\ntrace {\n\tuuid = \"%s\";\n};\nenv {\n",
                      logformat::FormatUuid(uuid));
  const std::uint64_t entries = bt_trace_get_environment_entry_count(&trace);
  for (std::uint64_t i = 0; i < entries; ++i) {
    const char* name = nullptr;
    const bt_value* value = nullptr;
    bt_trace_borrow_environment_entry_by_index_const(&trace, i, &name, &value);
    if (bt_value_get_type(value) == BT_VALUE_TYPE_STRING) {
      absl::StrAppendFormat(&text, "\t%s = %s;\n", name,
                            logformat::TsdlString(bt_value_string_get(value)));
    } else if (bt_value_get_type(value) == BT_VALUE_TYPE_SIGNED_INTEGER) {
      absl::StrAppendFormat(&text, "\t%s = %d;\n", name,
                            bt_value_integer_signed_get(value));
    }
  }
  return text + "};\n";
}

std::uint32_t ClassKey(std::uint64_t stream_class, std::uint64_t event) {
  return static_cast<std::uint32_t>(stream_class << 16 | (event & 0xffff));
}

std::int64_t ContextMember(const bt_field* context, const char* name) {
  if (context == nullptr) return 0;
  const auto at = MemberIndex(bt_field_borrow_class_const(context), name);
  if (!at) return 0;
  return IntegerOf(bt_field_structure_borrow_member_field_by_index_const(
                       context, *at))
      .value_or(0);
}

}  // namespace

bool IsOwnTrace(const bt_trace& trace) {
  return TextEntry(trace, "tracer_name") == "countrace";
}

absl::Status OwnEvents::Begin(const bt_trace& trace,
                              const std::vector<const bt_stream*>& streams) {
  auto description =
      logformat::ParseMetadata(DescriptionText(trace), output_.directory());
  if (!description.ok()) return description.status();
  trace_ = &trace;
  expected_ = std::exchange(description->streams, {});
  output_.TakeDescription(*std::move(description));
  classes_ = logformat::EventClasses(output_.description().info);
  for (const logformat::EventClass& event : classes_) {
    by_id_[ClassKey(static_cast<std::uint64_t>(event.stream_class), event.id)] =
        &event;
  }
  for (const bt_stream* source : streams) {
    absl::Status status = AddStream(source);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status OwnEvents::AddStream(const bt_stream* source) {
  Stream& stream = streams_.emplace_back();
  if (source == nullptr) return absl::OkStatus();
  OutputStream like;
  like.stream_class = static_cast<StreamClass>(
      bt_stream_class_get_id(bt_stream_borrow_class_const(source)));
  const char* name = bt_stream_get_name(source);
  const std::string path = name == nullptr ? "" : name;
  const std::string file = path.substr(path.rfind('/') + 1);
  for (const Stream& other : streams_) {
    if (other.output == nullptr || other.output->file != file) continue;
    // libbabeltrace2 merges directories with one uuid as pieces of one trace.
    return absl::InvalidArgumentError(absl::StrFormat(
        "Two traces of countrace cannot be read as one: both have stream %s",
        file));
  }
  stream.output = &output_.Named(file, std::move(like));
  return absl::OkStatus();
}

absl::Status OwnEvents::OnLateStream(const bt_trace& trace,
                                     const bt_stream& stream) {
  if (&trace != trace_) {
    return absl::InvalidArgumentError(
        "Two traces of countrace cannot be read as one");
  }
  return AddStream(&stream);
}

void OwnEvents::Finish() {
  if (!cut_) output_.Expect(expected_);
}

void OwnEvents::OnPacketBegin(const bt_packet& packet, Stream& stream,
                              std::uint64_t time_ns) {
  const bt_field* context = bt_packet_borrow_context_field_const(&packet);
  const auto number = [&](const char* name) {
    return static_cast<std::int32_t>(ContextMember(context, name));
  };
  OutputStream& output = *stream.output;
  output.cpu = number("cpu_id");
  output.pid = number("pid");
  output.tid = number("tid");
  if (!output_.EnsureOpen(output, time_ns)) return;
  for (std::size_t i = 0; i < logformat::kDiscardCauses; ++i) {
    const std::string name =
        absl::StrFormat("discarded_%s", logformat::kDiscardCauseNames[i]);
    stream.next_discarded[i] =
        static_cast<std::uint64_t>(ContextMember(context, name.c_str()));
  }
  // Counts are cumulative from the recording's beginning.
  if (std::exchange(stream.cut, false)) {
    stream.discarded = stream.next_discarded;
  }
  output.writer->SetPacketIdentity(
      output.pid, output.tid,
      static_cast<std::uint32_t>(ContextMember(context, "mmcr")),
      static_cast<std::uint32_t>(ContextMember(context, "present")));
  if (!output.writer->BeginPacket(time_ns)) output_.NoteFailure(output);
}

void OwnEvents::OnPacketEnd(Stream& stream, std::uint64_t time_ns) {
  if (stream.output->writer == nullptr) return;
  stream.output->writer->EndPacket(time_ns);
  for (std::size_t i = 0; i < logformat::kDiscardCauses; ++i) {
    const std::uint64_t now = stream.next_discarded[i];
    const std::uint64_t before = std::exchange(stream.discarded[i], now);
    if (now <= before) continue;
    stream.output->writer->CountDiscarded(
        static_cast<logformat::DiscardCause>(i), now - before);
  }
}

// A gap in the numbers of packets; the message does not name them.
void OwnEvents::OnLostPackets(const bt_message& message, Stream& stream,
                              std::uint64_t time_ns) {
  std::uint64_t count = 0;
  if (bt_message_discarded_packets_get_count(&message, &count) !=
          BT_PROPERTY_AVAILABILITY_AVAILABLE ||
      !output_.EnsureOpen(*stream.output, time_ns)) {
    return;
  }
  stream.output->writer->CountLostPackets(count, time_ns);
}

absl::Status OwnEvents::Encode(const std::vector<EventField>& schema,
                               const bt_field* structure,
                               const bt_event& event) {
  const auto wrong = [&](const EventField& field) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Event %s, field %s: not of the type that the description says",
        bt_event_class_get_name(bt_event_borrow_class_const(&event)),
        field.name));
  };
  const std::uint64_t members =
      structure == nullptr ? 0
                           : bt_field_class_structure_get_member_count(
                                 bt_field_borrow_class_const(structure));
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const EventField& field = schema[i];
    if (i >= members) return wrong(field);
    const bt_field& member =
        *bt_field_structure_borrow_member_field_by_index_const(structure, i);
    const bt_field_class_type type = bt_field_get_class_type(&member);
    const std::size_t size = logformat::FieldBytes(field);
    switch (field.type) {
      case FieldType::kString:
      case FieldType::kComm: {
        if (type != BT_FIELD_CLASS_TYPE_STRING) return wrong(field);
        const std::string_view text = TextOf(member);
        if (field.type == FieldType::kString) {
          body_ += text;
          body_ += '\0';
        } else {
          body_ += text.substr(0, size);
          body_.append(size - std::min(size, text.size()), '\0');
        }
        break;
      }
      case FieldType::kDouble: {
        if (type != BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL) {
          return wrong(field);
        }
        const double value = bt_field_real_double_precision_get_value(&member);
        body_.append(reinterpret_cast<const char*>(&value), sizeof(value));
        break;
      }
      case FieldType::kEventSet: {
        if (type !=
                BT_FIELD_CLASS_TYPE_VARIANT_WITH_UNSIGNED_INTEGER_SELECTOR_FIELD ||
            mmcr_ >= field.options.size()) {
          return wrong(field);
        }
        const absl::Status status =
            Encode(field.options[mmcr_],
                   bt_field_variant_borrow_selected_option_field_const(&member),
                   event);
        if (!status.ok()) return status;
        break;
      }
      default: {
        const auto value = IntegerOf(&member);
        if (!value) return wrong(field);
        if (field.type == FieldType::kMmcr) {
          mmcr_ = static_cast<std::uint32_t>(*value);
        }
        body_.append(reinterpret_cast<const char*>(&*value), size);
        break;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status OwnEvents::OnEvent(const bt_event& event, Stream& stream,
                                std::uint64_t time_ns) {
  const bt_event_class* event_class = bt_event_borrow_class_const(&event);
  const std::uint64_t id = bt_event_class_get_id(event_class);
  const auto found = by_id_.find(
      ClassKey(static_cast<std::uint64_t>(stream.output->stream_class), id));
  if (found == by_id_.end()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Event %s has id %d, which the trace's description does not have",
        bt_event_class_get_name(event_class), id));
  }
  const logformat::EventClass& schema = *found->second;
  body_.clear();
  mmcr_ = 0;
  absl::Status status =
      Encode(schema.context,
             bt_event_borrow_specific_context_field_const(&event), event);
  if (status.ok()) {
    status = Encode(schema.fields, bt_event_borrow_payload_field_const(&event),
                    event);
  }
  if (!status.ok()) return status;
  output_.Append(*stream.output, static_cast<std::uint16_t>(id), time_ns,
                 std::as_bytes(std::span(body_)));
  return absl::OkStatus();
}

absl::Status OwnEvents::OnMessage(const bt_message& message,
                                  std::uint64_t time_ns, std::size_t input) {
  Stream& stream = streams_[input];
  switch (bt_message_get_type(&message)) {
    case BT_MESSAGE_TYPE_PACKET_BEGINNING:
      OnPacketBegin(*bt_message_packet_beginning_borrow_packet_const(&message),
                    stream, time_ns);
      break;
    case BT_MESSAGE_TYPE_PACKET_END:
      OnPacketEnd(stream, time_ns);
      break;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
      OnLostPackets(message, stream, time_ns);
      break;
    case BT_MESSAGE_TYPE_STREAM_BEGINNING: {
      // Read from a file, neither has a time; a filter that cuts sets one.
      const bt_clock_snapshot* at = nullptr;
      stream.cut =
          bt_message_stream_beginning_borrow_default_clock_snapshot_const(
              &message, &at) == BT_MESSAGE_STREAM_CLOCK_SNAPSHOT_STATE_KNOWN;
      cut_ |= stream.cut;
      break;
    }
    case BT_MESSAGE_TYPE_STREAM_END: {
      const bt_clock_snapshot* at = nullptr;
      cut_ |=
          bt_message_stream_end_borrow_default_clock_snapshot_const(
              &message, &at) == BT_MESSAGE_STREAM_CLOCK_SNAPSHOT_STATE_KNOWN;
      break;
    }
    case BT_MESSAGE_TYPE_EVENT:
      return OnEvent(*bt_message_event_borrow_event_const(&message), stream,
                     time_ns);
    default:
      break;
  }
  return output_.status();
}

}  // namespace countrace::importer
