#include "runtime/inprocess/process/trace_clock.h"

#include "base/posix/kernel_clock.h"
#include "runtime/inprocess/process/own_namespaces.h"
#include "runtime/inprocess/process/process_state.h"

namespace countrace::runtime {

namespace {

// A published set does not change while a thread could still read it: with one
// new set in 100 ms, a slot is reused after 100 s.
constexpr unsigned kSets = 1024;
ClockParameters g_sets[kSets];
unsigned g_next_set = 0;  // guarded by ProcessState::clock_syncing

const ClockParameters kUnusable = {0, 0, 0, 0};

// The pair from which the rate is measured. It moves up every few seconds, so
// that the rate follows adjustments of CLOCK_MONOTONIC.
ClockPair g_rate_from;
ClockPair g_rate_next;
std::uint64_t g_limit_ticks = 0;  // 0: raw counter unusable
std::uint64_t g_recorder_mult = 0;

constexpr std::uint64_t kPairErrorNs = 1000;
constexpr std::uint64_t kSetNs = 100'000'000;
constexpr std::uint64_t kRateWindowNs = 8'000'000'000;
// The recorder's rate is used until our own pairs are this far apart.
constexpr std::uint64_t kOwnRateAfterNs = 400'000'000;

std::uint64_t MonotonicNs() noexcept {
  const std::uint64_t ns = base::KernelClockNs(CLOCK_MONOTONIC);
  if (g_process == nullptr) return ns;
  return ns - static_cast<std::uint64_t>(
                  g_process->clock_ahead_ns.load(std::memory_order_relaxed));
}

std::uint64_t ConvertTicks(std::uint64_t ticks, std::uint64_t mult) noexcept {
  return static_cast<std::uint64_t>(
      (static_cast<unsigned __int128>(ticks) * mult) >> 32);
}

std::uint64_t MeasuredRate(const ClockPair& now) noexcept {
  const std::uint64_t elapsed_ns = now.ns - g_rate_from.ns;
  if (elapsed_ns < kOwnRateAfterNs) return g_recorder_mult;
  const std::uint64_t ticks = now.raw - g_rate_from.raw;
  if (ticks == 0) return g_recorder_mult;
  return static_cast<std::uint64_t>(
      (static_cast<unsigned __int128>(elapsed_ns) << 32) / ticks);
}

void MoveRateWindow(const ClockPair& now) noexcept {
  if (now.ns - g_rate_next.ns < kRateWindowNs) return;
  g_rate_from = g_rate_next;
  g_rate_next = now;
}

// Requires: clock_syncing held. Returns the time of `now` on the log's clock.
std::uint64_t PublishSet(const ClockPair& now,
                         std::uint64_t floor_ns) noexcept {
  const std::uint64_t base_ns = now.ns > floor_ns ? now.ns : floor_ns;
  std::uint64_t mult = MeasuredRate(now);
  const std::uint64_t ahead_ns = base_ns - now.ns;
  if (ahead_ns > 0) {
    // Lose the lead within one set's life, at most by running at half speed.
    const std::uint64_t slower = ahead_ns > kSetNs / 2 ? kSetNs / 2 : ahead_ns;
    mult -= static_cast<std::uint64_t>(static_cast<unsigned __int128>(mult) *
                                       slower / kSetNs);
  }
  ClockParameters& set = g_sets[g_next_set++ % kSets];
  set.raw_base = now.raw;
  set.ns_base = base_ns;
  set.mult = mult;
  set.limit = g_limit_ticks;
  g_clock.store(&set, std::memory_order_release);  // pairs with ClockNow
  return base_ns;
}

}  // namespace

std::atomic<const ClockParameters*> g_clock{&kUnusable};

ClockPair ReadClockPair() noexcept {
  ClockPair best{0, 0};
  std::uint64_t best_ticks = ~std::uint64_t{0};
  // Four tries; more while each was interrupted (window above kPairErrorNs).
  for (int i = 0; i < 64; ++i) {
    if (i >= 4 && ConvertTicks(best_ticks, g_recorder_mult) < kPairErrorNs) {
      break;
    }
    const std::uint64_t before = ReadRawCounter();
    const std::uint64_t ns = MonotonicNs();
    const std::uint64_t after = ReadRawCounter();
    if (after - before < best_ticks) {
      best_ticks = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

void StartClock(std::uint64_t raw_ns_mult) noexcept {
  if (g_process != nullptr) {  // (tests have no process state)
    g_process->clock_ahead_ns.store(KnownTimeOffsetNs(),
                                    std::memory_order_relaxed);
    g_process->clock_ahead_known.store(1, std::memory_order_relaxed);
  }
  // A process that joins its next recording keeps its clock.
  if (raw_ns_mult == 0 || g_limit_ticks != 0) return;
  std::uint64_t limit = (kSetNs << 32) / raw_ns_mult;
  // A counter with ticks longer than a set's life is not used as a clock. With
  // shorter ticks the hot path can multiply in 64 bits, also for slow counters
  // (arm64: 16 ns and more): ticks below the limit are at most kSetNs * 2^32,
  // about 2^59.
  if (limit == 0) return;
  if (limit >> 32 != 0) limit = 0xffffffffu;
  g_recorder_mult = raw_ns_mult;
  g_limit_ticks = limit;
  const ClockPair now = ReadClockPair();
  g_rate_from = now;
  g_rate_next = now;
  PublishSet(now, 0);
}

std::uint64_t ClockSlow() noexcept {
  if (g_limit_ticks == 0) return MonotonicNs();
  const ClockParameters* ended = g_clock.load(std::memory_order_acquire);
  const std::uint64_t ticks = ReadRawCounter() - ended->raw_base;
  if (ticks < ended->limit) {  // replaced since the caller looked
    return ended->ns_base + ConvertTicks(ticks, ended->mult);
  }
  // No record can be later than the end of the expired set.
  const std::uint64_t floor_ns =
      ended->ns_base + ConvertTicks(ended->limit, ended->mult);
  // A forked child before EnsureProcessInitialised(): its clock_ahead_ns is not
  // known, and parameters from it would stay wrong. It has no ring, so that
  // this time is in no record.
  if (g_process != nullptr &&
      g_process->pid.load(std::memory_order_acquire) == 0) {
    return floor_ns;
  }
  if (g_process == nullptr ||
      g_process->clock_syncing.exchange(1, std::memory_order_acquire) != 0) {
    // Another thread (or the code that this handler interrupted) is pairing.
    // Stay behind the set that it publishes: its pair is good to kPairErrorNs.
    const std::uint64_t now = MonotonicNs() - kPairErrorNs;
    return now > floor_ns ? now : floor_ns;
  }
  std::uint64_t result;
  const ClockParameters* current = g_clock.load(std::memory_order_acquire);
  if (current != ended) {  // published before we took the flag
    result = current->ns_base +
             ConvertTicks(ReadRawCounter() - current->raw_base, current->mult);
  } else {
    const ClockPair now = ReadClockPair();
    result = PublishSet(now, floor_ns);
    MoveRateWindow(now);
  }
  g_process->clock_syncing.store(0, std::memory_order_release);
  return result;
}

}  // namespace countrace::runtime
