#include "runtime/inprocess/ring/ring_packets.h"

#include <string.h>
#include <sys/mman.h>

#include "base/posix/own_call.h"
#include "logformat/packet_checksum.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/process/trace_clock.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

void ClosePacket(const SubBuffer& left) noexcept {
  auto* head = reinterpret_cast<lf::PacketHead*>(left.address);
  // The trace is finished: the packet has its checksum.
  if (__atomic_load_n(&head->content_bits, __ATOMIC_RELAXED) != 0) return;
  const ClockPair pair = ReadClockPair();
  head->raw_end = pair.raw;
  head->monotonic_end = pair.ns;
  head->end_ns = left.end_ns;
  // Last: a packet with a content size is complete.
  __atomic_store_n(&head->content_bits, left.content_bytes * 8,
                   __ATOMIC_RELEASE);
}

void Retire(ThreadRing& ring, const SubBuffer& left) noexcept {
  ClosePacket(left);
  if (ring.retired.Push(left)) return;
  // Else it stays mapped: less than a program that is killed for the call.
  if (MayCall()) base::OwnCall(SYS_munmap, left.address, left.bytes);
}

}  // namespace

void StoreChecksum(const SubBuffer& left) noexcept {
  lf::PacketHead* const packet =
      reinterpret_cast<lf::PacketHead*>(left.address);
  lf::PacketHead head = *packet;
  if (head.content_bits != left.content_bytes * 8) return;
  head.checksum = 0;
  const std::uint64_t checksum =
      lf::PacketChecksum(head, left.address + lf::kPacketHeadBytes);
  // Both at once, and only if there is none: a recorder that has changed the
  // head has stored one.
  std::uint64_t none = head.sequence;
  __atomic_compare_exchange_n(
      reinterpret_cast<std::uint64_t*>(left.address +
                                       offsetof(lf::PacketHead, sequence)),
      &none, head.sequence | checksum << 32, false, __ATOMIC_RELEASE,
      __ATOMIC_RELAXED);
}

void CountDiscard(ThreadRing& ring, lf::DiscardCause cause) noexcept {
  if (ring.head == nullptr ||
      __atomic_load_n(&ring.head->content_bits, __ATOMIC_RELAXED) != 0) {
    CountSessionDiscard(cause, 0);
    return;
  }
  // Single instructions: both sums stay right if a handler comes between.
  __atomic_fetch_add(&ring.discarded[static_cast<std::uint32_t>(cause)], 1,
                     __ATOMIC_RELAXED);
  __atomic_fetch_add(
      &ring.head->discarded_by_cause[static_cast<std::uint32_t>(cause)], 1,
      __ATOMIC_RELAXED);
  __atomic_fetch_add(&ring.head->discarded, 1, __ATOMIC_RELAXED);
}

void CloseToHandlers(ThreadRing& ring) noexcept {
  __atomic_store_n(&ring.epoch, kPoisonedEpoch, __ATOMIC_RELAXED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void LeaveCurrent(ThreadRing& ring, std::uint64_t now_ns,
                  bool nested) noexcept {
  if (!nested) {
    for (std::uint32_t i = 0; i < ring.deferred_count; ++i) {
      Retire(ring, ring.deferred[i]);
    }
    ring.deferred_count = 0;
  }
  if (ring.head == nullptr) return;
  ring.current.content_bytes =
      static_cast<std::uint64_t>(ring.pos - ring.current.address);
  ring.current.end_ns = now_ns;
  if (!nested) {
    Retire(ring, ring.current);
  } else if (ring.deferred_count < kMaxDeferred) {
    ring.deferred[ring.deferred_count++] = ring.current;
  }  // else: the end of the recording closes it
  ring.head = nullptr;
}

void Activate(ThreadRing& ring, const SubBuffer& next,
              std::uint64_t now_ns) noexcept {
  auto* head = reinterpret_cast<lf::PacketHead*>(next.address);
  const ClockPair pair = ReadClockPair();
  memcpy(head->uuid, g_settings->uuid, sizeof(head->uuid));
  head->stream_class = static_cast<std::uint32_t>(lf::StreamClass::kThread);
  head->begin_ns = now_ns;
  head->end_ns = now_ns;
  head->content_bits = 0;
  head->packet_bits = next.bytes * 8;
  head->sequence = static_cast<std::uint32_t>(ring.sequence++);
  head->checksum = 0;
  head->discarded = 0;
  for (std::size_t i = 0; i < lf::kDiscardCauses; ++i) {
    head->discarded_by_cause[i] = ring.discarded[i];
    head->discarded += ring.discarded[i];
  }
  head->raw_begin = pair.raw;
  head->monotonic_begin = pair.ns;
  head->cpu = -1;
  head->pid = ring.pid;
  head->tid = ring.tid;
  head->mmcr = 0;
  // Both 0 in the recorder's namespace.
  head->present = g_process->other_namespace.load(std::memory_order_relaxed);
  head->flags = head->present != 0 ? lf::kPacketOtherNamespace : 0u;
  __atomic_store_n(&head->magic, lf::kPacketMagic, __ATOMIC_RELEASE);
  ring.head = head;
  ring.current = next;
  ring.end = next.address + next.bytes;
  ring.pos = next.address + lf::kPacketHeadBytes;
  // Last: until then a handler finds no room (CloseToHandlers).
  std::atomic_signal_fence(std::memory_order_seq_cst);
  __atomic_store_n(&ring.epoch, now_ns >> kEpochShift, __ATOMIC_RELAXED);
  ring.activations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace countrace::runtime
