// The packets of one ring: the one it writes into, and those it has left. But
// for StoreChecksum(), only the owner thread calls these, in the slow path;
// none waits.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_RING_PACKETS_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_RING_PACKETS_H_

#include <cstdint>

#include "runtime/inprocess/ring/ring_layout.h"

namespace countrace::runtime {

// Counts a discarded record: in the current packet, else in the session.
void CountDiscard(ThreadRing& ring, logformat::DiscardCause cause) noexcept;

// From here until Activate() every record takes the slow path. A handler that
// interrupts a thread whose signals could not be blocked changes nothing.
void CloseToHandlers(ThreadRing& ring) noexcept;

// Leaves the current packet. The packet stays open and mapped while an
// interrupted hook may still store into it.
void LeaveCurrent(ThreadRing& ring, std::uint64_t now_ns, bool nested) noexcept;

// Stores the checksum of a packet that was left, closed and handed over. It
// reads the whole packet: called off the slow path, by the preparer.
void StoreChecksum(const SubBuffer& left) noexcept;

// Opens a packet in `next`.
void Activate(ThreadRing& ring, const SubBuffer& next,
              std::uint64_t now_ns) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_RING_PACKETS_H_
