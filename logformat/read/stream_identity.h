// Finds stream files of one trace that hold the same packet: a file that was
// copied beside its original would double every call in it.
#ifndef COUNTRACE_LOGFORMAT_READ_STREAM_IDENTITY_H_
#define COUNTRACE_LOGFORMAT_READ_STREAM_IDENTITY_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "logformat/read/packet_scanner.h"

namespace countrace::logformat {

class StreamIdentities {
 public:
  // Adds the packets of one stream file, once. Returns: empty, or that a file
  // added before holds one of them; then nothing was added.
  std::string Add(const std::string& file, const StreamScan& scan);

 private:
  struct Place {
    std::uint32_t file;
    std::uint64_t offset;
  };
  // Whose packet, from when to when, and its first record.
  using Key = std::array<std::uint64_t, 6>;

  std::vector<std::string> files_;
  std::map<Key, Place> packets_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_STREAM_IDENTITY_H_
