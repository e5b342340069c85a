// The numbers of threads of other pid namespaces than the recorder's: what
// their own process wrote becomes what the kernel records have.
//
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_THREAD_IDS_H_
#define COUNTRACE_LOGFORMAT_REPAIR_THREAD_IDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "logformat/packet_layout.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {

class ThreadIds {
 public:
  // Reads `.thread_ids`; without the file no number is known.
  explicit ThreadIds(const std::string& directory);

  // Replaces pid and tid of a packet's head that has kPacketOtherNamespace, and
  // clears that flag. A thread without an entry gets numbers that no other has,
  // from kUnknownIds on.
  void Translate(PacketHead& head);
  // Does that in all packets of a stream file, in place; a file may be done
  // twice. Returns: as write(2).
  absl::Status TranslateStream(const std::string& path);

  // Threads without an entry so far.
  std::uint64_t unknown() const { return unknown_.size(); }

  // No number of a thread, also not with bit 23: those are below 2^22.
  static constexpr std::int32_t kUnknownIds = 0xC00000;

 private:
  using Key = std::pair<std::uint32_t, std::int32_t>;  // namespace, own number
  std::int32_t NumberFor(const Key& key);

  std::map<Key, std::vector<ThreadIdsEntry>> entries_;  // by tid; in time order
  std::map<Key, std::int32_t> unknown_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_THREAD_IDS_H_
