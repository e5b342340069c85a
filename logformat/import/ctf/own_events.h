// Converts a countrace trace as libbabeltrace2 shows it back to its records:
// packet by packet, into the same files, so that a report of the result equals
// the report of the trace.
//
// In: messages in time order. Out: records to TraceOutput. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_OWN_EVENTS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_OWN_EVENTS_H_

#include <babeltrace2/babeltrace.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "logformat/description/trace_description.h"
#include "logformat/event_schema.h"
#include "logformat/import/trace_output.h"

namespace countrace::importer {

// True if countrace wrote the trace.
bool IsOwnTrace(const bt_trace& trace);

class OwnEvents {
 public:
  explicit OwnEvents(TraceOutput& output) : output_(output) {}

  // Reads the trace's description from its environment.
  absl::Status Begin(const bt_trace& trace,
                     const std::vector<const bt_stream*>& streams);
  // Adds one more input of the same trace.
  absl::Status OnLateStream(const bt_trace& trace, const bt_stream& stream);
  absl::Status OnMessage(const bt_message& message, std::uint64_t time_ns,
                         std::size_t input);
  // Counts the packets missing at the end of the streams.
  void Finish();

 private:
  struct Stream {
    OutputStream* output = nullptr;
    bool cut = false;  // a filter removed its first packets
    std::array<std::uint64_t, logformat::kDiscardCauses> discarded{};
    std::array<std::uint64_t, logformat::kDiscardCauses> next_discarded{};
  };

  absl::Status AddStream(const bt_stream* source);
  void OnPacketBegin(const bt_packet& packet, Stream& stream,
                     std::uint64_t time_ns);
  void OnPacketEnd(Stream& stream, std::uint64_t time_ns);
  void OnLostPackets(const bt_message& message, Stream& stream,
                     std::uint64_t time_ns);
  absl::Status OnEvent(const bt_event& event, Stream& stream,
                       std::uint64_t time_ns);
  absl::Status Encode(const std::vector<logformat::EventField>& schema,
                      const bt_field* structure, const bt_event& event);

  TraceOutput& output_;
  const bt_trace* trace_ = nullptr;
  // Content of each stream when the recording ended.
  std::vector<logformat::FinishedStream> expected_;
  // A filter cut streams at their beginning or end: what is missing there was
  // left out, not lost.
  bool cut_ = false;
  std::vector<logformat::EventClass> classes_;
  absl::flat_hash_map<std::uint32_t, const logformat::EventClass*> by_id_;
  std::vector<Stream> streams_;
  std::string body_;
  std::uint32_t mmcr_ = 0;  // of the current dump
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_OWN_EVENTS_H_
