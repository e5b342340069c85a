// A Perfetto trace file, packet by packet.
//
//   Add --> packets --zlib--> one packet of compressed ones --> the file
//
// Such a packet has to be smaller than 512 KB (Perfetto's trace_packet.proto).
// Memory: two of them. The first error stays. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_PERFETTO_PACKETS_H_
#define COUNTRACE_RMAP_EXPORT_PERFETTO_PACKETS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "rmap/export/perfetto/fields.h"

namespace countrace::rmap::perfetto {

// Writers in the sense of trace_packet.proto: packets of one are in order, its
// interned data is its own.
enum Sequence : std::uint32_t {
  kTracks = 1,
  kSwitches = 2,
  kWakings = 3,
  kSamples = 4  // and the following ones, by event
};

class Packets {
 public:
  // Takes the file in parts of at most 256 KiB.
  using Parts = std::function<absl::Status(std::string_view)>;

  explicit Packets(Parts parts) : parts_(std::move(parts)) {}

  // `fill(Message&)` adds the fields of the packet.
  template <typename Fill>
  void Add(std::uint32_t sequence, std::uint32_t flags, const Fill& fill) {
    {
      Message trace(pending_);
      Message packet(trace, kPacketOfTrace);
      packet.add_uint32(kSequenceId, sequence);
      if (flags != 0) packet.add_uint32(kSequenceFlags, flags);
      fill(packet);
    }
    if (pending_.size() >= kPartBytes) Flush();
  }
  // The first packet of a sequence.
  template <typename Fill>
  void Begin(std::uint32_t sequence, const Fill& fill) {
    Add(sequence, kStateCleared | kNeedsState, [&](Message& packet) {
      packet.add_bool(kFirstPacketOnSequence, true);
      packet.add_bool(kPreviousPacketDropped, true);
      fill(packet);
    });
  }
  absl::Status Finish();

  const absl::Status& status() const { return status_; }
  void Fail(const absl::Status& status) { status_.Update(status); }

 private:
  static constexpr std::size_t kPartBytes = 224 << 10;

  void Flush();

  const Parts parts_;
  std::string pending_, packed_;
  absl::Status status_;
};

}  // namespace countrace::rmap::perfetto

#endif  // COUNTRACE_RMAP_EXPORT_PERFETTO_PACKETS_H_
