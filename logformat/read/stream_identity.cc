#include "logformat/read/stream_identity.h"

#include "absl/strings/str_format.h"
#include "logformat/read/record_walk.h"

namespace countrace::logformat {
namespace {

std::uint64_t Pair(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

std::string StreamIdentities::Add(const std::string& file,
                                  const StreamScan& scan) {
  std::map<Key, Place> added;
  const auto index = static_cast<std::uint32_t>(files_.size());
  for (const ScannedPacket& packet : scan.packets) {
    if (packet.records.size() < kRecordAlignBytes) continue;
    const PacketHead& head = packet.head;
    // Not its number: a copy may be cut, and a snapshot has other numbers.
    const Key key = {
        Pair(head.stream_class, static_cast<std::uint32_t>(head.cpu)),
        Pair(static_cast<std::uint32_t>(head.pid),
             static_cast<std::uint32_t>(head.tid)),
        head.begin_ns,
        head.raw_begin,
        LoadWord(packet.records.data()),
        packet.records.size()};
    if (const auto found = packets_.find(key); found != packets_.end()) {
      return absl::StrFormat(
          "%s holds the packet at its offset %d a second time, as packet %d: "
          "one file is a copy of the other, and all its records would count "
          "twice; move one away",
          files_[found->second.file], found->second.offset, head.sequence);
    }
    added.insert({key, {index, packet.offset}});
  }
  files_.push_back(file);
  packets_.merge(added);
  return "";
}

}  // namespace countrace::logformat
