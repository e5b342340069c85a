// Checks and translates the packets of another user's stream.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_USER_PACKETS_H_
#define COUNTRACE_LOGFORMAT_REPAIR_USER_PACKETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "logformat/description/trace_description.h"
#include "logformat/packet_layout.h"
#include "logformat/read/record_table.h"
#include "logformat/repair/thread_ids.h"
#include "logformat/repair/user_hooks.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// What a packet of a user may contain.
struct PacketLimits {
  std::uint64_t most_bytes = 0;  // of a packet
  std::uint64_t begin_ns = 0;    // of the recording
  // CLOCK_MONOTONIC now, while its processes have their numbers; 0: not known.
  std::uint64_t now_ns = 0;
  // Processes with hooks whose user the recorder's own is.
  std::set<std::int32_t> foreign_pids;
};

class UserPackets {
 public:
  // `info` describes the trace; its hooks are replaced by `hooks`. The objects
  // must outlive this one.
  UserPackets(std::uint32_t user, const TraceInfo& info, const UserHooks& hooks,
              const PacketLimits& limits, ThreadIds& ids);

  // Whether a packet with this head may be copied, by its head alone.
  bool IsHead(const PacketHead& head) const;
  // Gives the records of `packet`, with its head, the ids of the trace, and
  // clears what is no record. False: it is refused.
  bool Translate(std::span<std::byte> packet);

  // Processes of the packets that were not refused.
  const std::set<std::int32_t>& pids() const { return pids_; }

 private:
  bool MayBeOurs(PacketHead head);

  std::uint32_t user_;
  const std::vector<std::uint16_t>& ids_;
  RecordTable table_;
  Uuid uuid_;
  const PacketLimits& limits_;
  ThreadIds& thread_ids_;
  std::map<std::int32_t, bool> known_;  // pids: of this user
  std::set<std::int32_t> pids_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_USER_PACKETS_H_
