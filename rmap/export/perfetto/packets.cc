#include "rmap/export/perfetto/packets.h"

#include <zlib.h>

namespace countrace::rmap::perfetto {

void Packets::Flush() {
  if (status_.ok() && !pending_.empty()) {
    uLongf bytes = compressBound(pending_.size());
    packed_.resize(bytes);
    if (compress2(reinterpret_cast<Bytef*>(packed_.data()), &bytes,
                  reinterpret_cast<const Bytef*>(pending_.data()),
                  pending_.size(), Z_BEST_SPEED) != Z_OK) {
      Fail(absl::InternalError("zlib cannot compress a part of the trace"));
    }
    pending_.clear();
    Message trace(pending_);
    Message(trace, kPacketOfTrace)
        .add_bytes(kCompressedPackets, packed_.data(), bytes);
    if (status_.ok()) Fail(parts_(pending_));
  }
  pending_.clear();
}

absl::Status Packets::Finish() {
  Flush();
  return status_;
}

}  // namespace countrace::rmap::perfetto
