// What a thread may have done unseen (rmap/dispatch/unseen_time.h), by numbers
// to check by hand.
#include "rmap/dispatch/unseen_time.h"

#include <catch2/catch.hpp>
#include <cstdint>

#include "rmap/state/thread_state.h"

namespace countrace::rmap {
namespace {

TEST_CASE("unseen: beyond the limit of intervals, limits are wide enough",
          "[rmap][bounds]") {
  // One more interval than is kept, or the first one.
  const bool full = GENERATE(false, true);
  CAPTURE(full);
  UnseenTime unseen(/*events=*/0, /*kernel_segments=*/false);
  const std::uint64_t before = full ? UnseenTime::kMaxEntries : 0;
  for (std::uint64_t i = 0; i < before; ++i) {
    unseen.Hide(10 * i, 10 * i + 4, /*visited=*/true);
  }
  const std::uint64_t left_ns = 10 * before + 100;
  ThreadState thread;
  thread.dispatch.running_cpu = -1;
  unseen.Leave(thread, left_ns);
  unseen.Hide(left_ns - 3, left_ns + 5, /*visited=*/true);
  unseen.See(thread, left_ns + 10);
  // It may have had the CPU before it left, and be in any state since then.
  CHECK(thread.unseen.hidden_ns == 8);
  CHECK(thread.unseen.unknown_ns == 10);
}

}  // namespace
}  // namespace countrace::rmap
