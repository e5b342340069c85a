#include "runtime/inprocess/interpose/less_access.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/own_descriptors.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/ring/spare_streams.h"
#include "runtime/inprocess/ring/stream_names.h"
#include "runtime/inprocess/ring/thread_ring.h"

namespace countrace::runtime {

void KeepStreamsGrowing() noexcept {
  if (g_process == nullptr || !MayCall()) return;
  const SignalBlock block;  // keeps errno
  const SlowPathUse use;
  if (!use.is_open() || !SessionIsRecording() || !TailsAreAvailable()) return;
  EnsureProcessInitialised();
  if (t_state.ring->live == 0) OpenStreamNow();
  // First: a thread that opens its stream from now on gives it a tail.
  MakeSpareStreams();
  for (ThreadRing* ring = g_process->all_rings.load(std::memory_order_acquire);
       ring != nullptr; ring = ring->next_all) {
    if (ring->created.load(std::memory_order_acquire) == 0) continue;
    if (ring->tail.page != nullptr) continue;
    const DescriptorUse descriptor_use;
    const long fd = OpenStream(ring->stream);
    if (fd < 0) continue;
    GiveTail(*ring, static_cast<int>(fd));
    base::OwnCall(SYS_close, fd);
  }
}

}  // namespace countrace::runtime
