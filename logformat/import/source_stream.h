// A stream of a foreign trace while it is converted.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_SOURCE_STREAM_H_
#define COUNTRACE_LOGFORMAT_IMPORT_SOURCE_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "logformat/import/mapping/event_fields.h"
#include "logformat/import/trace_output.h"

typedef struct bt_stream bt_stream;  // libbabeltrace2's

namespace countrace::importer {

// Ids that no thread has stand for who is not known: pid_max is at most 2^22,
// and dispatch records hold 24 bits.
inline constexpr std::int32_t kMadeUpTid = 1 << 22;

struct SourceStream {
  const bt_stream* stream = nullptr;  // null: of another source
  std::string name;
  bool kernel = false;
  bool per_cpu = false;   // its packets say of which CPU they are
  std::int32_t cpu = -1;  // of the packet at hand
  std::int32_t pid = -1;  // per-process buffers; else -1
  // Who its events are of if they do not say it: the stream itself.
  std::int32_t made_up_tid = kMadeUpTid;
  std::optional<std::uint32_t> cpu_member, size_member;  // of packet contexts
  // The thread of the last event.
  std::int32_t last_pid = -1, last_tid = -1;
  OutputStream* last = nullptr;
};

// A message's event with what was found out about it.
struct SourceEvent {
  const EventFields& event;
  std::uint64_t time_ns;
  SourceStream& stream;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_SOURCE_STREAM_H_
