// A stream of an imported trace while it is converted.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_SOURCE_STREAM_H_
#define COUNTRACE_LOGFORMAT_IMPORT_SOURCE_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "logformat/import/mapping/event_fields.h"
#include "logformat/import/trace_output.h"

typedef struct bt_stream bt_stream;  // libbabeltrace2's

namespace countrace::importer {

// Ids from here on represent unknown threads; no thread has them: pid_max is at
// most 2^22, and dispatch records hold 24 bits.
inline constexpr std::int32_t kMadeUpTid = 1 << 22;

struct SourceStream {
  const bt_stream* stream = nullptr;  // null: of another source
  std::string name;
  bool kernel = false;
  bool per_cpu = false;   // its packets name their CPU
  std::int32_t cpu = -1;  // of the current packet
  std::int32_t pid = -1;  // per-process buffers; else -1
  // The thread of events that do not name one: the stream itself.
  std::int32_t made_up_tid = kMadeUpTid;
  std::optional<std::uint32_t> cpu_member;  // of packet contexts
  std::uint64_t packet_events = 0;          // of the current packet, so far
  // The thread of the last event.
  std::int32_t last_pid = -1, last_tid = -1;
  OutputStream* last = nullptr;
};

// A message's event with its stream and time.
struct SourceEvent {
  const EventFields& event;
  std::uint64_t time_ns;
  SourceStream& stream;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_SOURCE_STREAM_H_
