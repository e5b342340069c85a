// The part of a committed record that triggers use, and the selection of
// records.
#ifndef COUNTRACE_RUNTIME_RECORDER_TRIGGERS_WATCHED_RECORD_H_
#define COUNTRACE_RUNTIME_RECORDER_TRIGGERS_WATCHED_RECORD_H_

#include <bitset>
#include <cstdint>

#include "logformat/packet_layout.h"
#include "logformat/read/record_table.h"
#include "runtime/recorder/triggers/trigger_values.h"

namespace countrace::runtime {

enum class WatchedKind : std::uint8_t {
  kHook,       // a record of a hook, `event_id`
  kThreadEnd,  // `tid` exits or execs another program
  kLoss,       // records were lost before this time, on `cpu` or in `tid`
};

struct WatchedRecord {
  std::uint64_t time_ns = 0;
  std::int32_t pid = -1, tid = -1;
  std::int32_t cpu = -1;  // -1: of a thread's stream
  std::uint16_t event_id = 0;
  WatchedKind kind = WatchedKind::kHook;
  std::uint32_t failed = 0;  // TriggerValues
};

// The watched records of one class of streams, and the length of each.
struct WatchedStream {
  const logformat::RecordTable* table = nullptr;
  std::bitset<65536> watched;             // by event id
  const TriggerValues* values = nullptr;  // null: no trigger compares any
  bool dump_heads = false;                // dumps begin with a ThreadDump
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_TRIGGERS_WATCHED_RECORD_H_
