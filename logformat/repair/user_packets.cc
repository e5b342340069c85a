#include "logformat/repair/user_packets.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/str_format.h"
#include "logformat/event_schema.h"
#include "logformat/packet_checksum.h"
#include "logformat/read/record_walk.h"

namespace countrace::logformat {
namespace {

// Clocks of a packet and of the recorder are read at different instants.
constexpr std::uint64_t kClockErrorNs = 1'000'000'000;
// Larger counts of lost records are no counts.
constexpr std::uint64_t kMostDiscarded = std::uint64_t{1} << 48;

TraceInfo WithHooks(TraceInfo info, const std::vector<HookInfo>& hooks) {
  info.hooks = hooks;
  return info;
}

bool CountsAddUp(const PacketHead& head) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : head.discarded_by_cause) {
    if (count > kMostDiscarded) return false;
    sum += count;
  }
  return sum == head.discarded;
}

// Whether one of the user ids of process `pid` is `user`; nullopt: it has
// ended.
std::optional<bool> BelongsTo(std::int32_t pid, std::uint32_t user) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(absl::StrFormat("/proc/%d/status", pid).c_str(), "re"),
      std::fclose);
  if (file == nullptr) return std::nullopt;
  char line[256];
  while (std::fgets(line, sizeof(line), file.get()) != nullptr) {
    unsigned ids[4];
    if (std::sscanf(line, "Uid: %u %u %u %u", ids, ids + 1,  // NOLINT
                    ids + 2, ids + 3) != 4) {
      continue;
    }
    for (const unsigned id : ids) {
      if (id == user) return true;
    }
    return false;
  }
  return std::nullopt;
}

}  // namespace

UserPackets::UserPackets(std::uint32_t user, const TraceInfo& info,
                         const UserHooks& hooks, const PacketLimits& limits,
                         ThreadIds& ids)
    : user_(user),
      ids_(hooks.ids),
      table_(EventClasses(WithHooks(info, hooks.hooks)), StreamClass::kThread),
      uuid_(info.uuid),
      limits_(limits),
      thread_ids_(ids) {}

bool UserPackets::IsHead(const PacketHead& head) const {
  const std::uint64_t bytes = head.packet_bits / 8;
  return head.magic == kPacketMagic && head.packet_bits % 8 == 0 &&
         bytes >= kPacketAlignBytes && bytes % kPacketAlignBytes == 0 &&
         bytes <= limits_.most_bytes &&
         std::memcmp(head.uuid, uuid_.data(), uuid_.size()) == 0;
}

bool UserPackets::MayBeOurs(PacketHead head) {
  thread_ids_.Translate(head);
  if (head.pid <= 0 || head.tid <= 0) return false;
  if (head.pid >= ThreadIds::kUnknownIds) return true;
  const auto [at, added] = known_.try_emplace(head.pid, false);
  if (added) {
    std::optional<bool> is_ours;
    if (limits_.now_ns != 0) is_ours = BelongsTo(head.pid, user_);
    at->second = is_ours.value_or(!limits_.foreign_pids.contains(head.pid));
  }
  if (at->second) pids_.insert(head.pid);
  return at->second;
}

bool UserPackets::Translate(std::span<std::byte> packet) {
  PacketHead head;
  std::memcpy(&head, packet.data(), sizeof(head));
  const bool open = head.content_bits == 0;
  const std::uint64_t content = open ? packet.size() : head.content_bits / 8;
  if (head.stream_class != static_cast<std::uint32_t>(StreamClass::kThread) ||
      content < kPacketHeadBytes || content > packet.size() ||
      head.begin_ns < limits_.begin_ns || !CountsAddUp(head) ||
      !MayBeOurs(head)) {
    return false;
  }
  // The content may end with a text, in the middle of a word.
  const std::span<std::byte> records =
      packet.subspan(kPacketHeadBytes,
                     std::min(open ? packet.size() : CheckedRecordBytes(head),
                              packet.size() - kPacketHeadBytes));
  const RecordWalk walk = WalkRecords(table_, records, head.begin_ns, open);
  if (limits_.now_ns != 0 && (walk.last_ns > limits_.now_ns + kClockErrorNs ||
                              head.end_ns > limits_.now_ns + kClockErrorNs)) {
    return false;
  }
  for (const RecordRun& run : walk.runs) {
    for (std::size_t at = run.offset; at < run.offset + run.bytes;) {
      std::uint64_t word = LoadWord(records.data() + at);
      const std::uint16_t id = HeaderEventId(word);
      std::size_t bytes = table_.fixed_bytes(id);
      if (bytes == RecordTable::kVariable) {
        bytes = table_.Measure(id, records.data() + at, records.size() - at)
                    .padded_bytes;
      }
      const std::uint64_t kept = id & (kEventDumpBit | kEventExitBit);
      const std::uint64_t hook = ids_[EventHookId(id)];
      word = (word & ~std::uint64_t{0xffff}) | kept | hook << 1;
      std::memcpy(records.data() + at, &word, sizeof(word));
      if (bytes < kRecordAlignBytes) return false;
      at += bytes;
    }
  }
  // Bytes that are no record of the user would be one of another hook.
  if (!walk.damage.empty()) {
    std::memset(records.data() + walk.end_bytes, 0,
                records.size() - walk.end_bytes);
  }
  head.flags &= static_cast<std::uint32_t>(kPacketOtherNamespace);
  head.cpu = -1;
  head.checksum = 0;  // FinishTrace() computes that of the records here
  std::memcpy(packet.data(), &head, sizeof(head));
  return true;
}

}  // namespace countrace::logformat
