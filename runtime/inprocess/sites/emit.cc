// HOT. From a hook to its event record: reserve, fill, store the header word.
#include "runtime/inprocess/sites/emit.h"

#include <string.h>

#include "logformat/packet_layout.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/trace_clock.h"
#include "runtime/inprocess/ring/thread_ring.h"
#include "runtime/inprocess/sites/guarded_hooks.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

// Marks the thread as writing a record while it lives; remembers whether an
// interrupted hook of the same thread is writing one, too.
class BusyScope {
 public:
  BusyScope() noexcept : outer_(t_state.busy) {
    t_state.busy = 1;
    // Compiler order only: handlers of this thread are the readers.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~BusyScope() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_state.busy = outer_;
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;
  bool nested() const noexcept { return outer_ != 0; }

 private:
  std::uint32_t outer_;
};

// Handlers that interrupt us change pos: load it each time.
inline std::byte* LoadPos(ThreadRing* ring) noexcept {
  return __atomic_load_n(&ring->pos, __ATOMIC_RELAXED);
}

inline bool HasRoom(ThreadRing* ring, std::byte* pos, std::size_t bytes,
                    std::uint64_t now_ns) noexcept {
  // An epoch is 19 h, so two records of one packet are never 2^47 ns apart.
  return __builtin_expect(
      static_cast<std::size_t>(ring->end - pos) >= bytes &&
          now_ns >> kEpochShift ==
              __atomic_load_n(&ring->epoch, __ATOMIC_RELAXED),
      1);
}

// The cases that the fast path cannot do: new clock parameters, a new
// sub-buffer, a handler in between.
[[gnu::noinline, gnu::cold]] void EmitSlow(std::uint32_t event_id) noexcept {
  const BusyScope busy;
  for (;;) {
    ThreadRing* ring = t_state.ring;
    std::byte* pos = LoadPos(ring);
    const std::uint64_t now_ns = ClockNow();
    if (!HasRoom(ring, pos, 8, now_ns)) {
      if (!MakeRoom(8, busy.nested(), event_id)) return;
      continue;
    }
    // This fails if a handler wrote a record since `pos` was read. Its time is
    // later than ours, so read the clock again.
    if (!ExchangeIfEqual(&ring->pos, pos, pos + 8)) continue;
    StoreHeader(pos,
                lf::HeaderWord(static_cast<std::uint16_t>(event_id), now_ns));
    return;
  }
}

// Enter, exit or point hook without payload and without counters: one word. A
// leaf function: every unlikely case is a tail call. tests/bench/hook_bench
// prints its cost.
void Emit(std::uint32_t event_id) noexcept {
  {
    const BusyScope busy;
    ThreadRing* ring = t_state.ring;
    std::byte* pos = LoadPos(ring);
    std::uint64_t now_ns;
    if (TryClockNow(&now_ns) && HasRoom(ring, pos, 8, now_ns) &&
        __builtin_expect(ExchangeIfEqual(&ring->pos, pos, pos + 8), 1)) {
      StoreHeader(pos,
                  lf::HeaderWord(static_cast<std::uint16_t>(event_id), now_ns));
      return;
    }
  }
  EmitSlow(event_id);
}

std::size_t StringBytes(const countrace_value& value) noexcept {
  const std::size_t bytes = value.bytes < lf::kMaxStringBytes - 1
                                ? value.bytes
                                : lf::kMaxStringBytes - 1;
  return bytes + 1;
}

std::size_t PayloadBytes(const countrace_hook_site& site,
                         const countrace_value* values,
                         std::uint32_t count) noexcept {
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    bytes += site.types[i] == COUNTRACE_TYPE_STRING ? StringBytes(values[i])
                                                    : sizeof(values[i].as.u);
  }
  return bytes;
}

std::byte* StorePayload(std::byte* out, const countrace_hook_site& site,
                        const countrace_value* values,
                        std::uint32_t count) noexcept {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (site.types[i] != COUNTRACE_TYPE_STRING) {
      memcpy(out, &values[i].as.u, sizeof(values[i].as.u));
      out += sizeof(values[i].as.u);
      continue;
    }
    // The text may change while it is copied (another thread), and a view may
    // hold NULs: neither may end the string early.
    const std::size_t bytes = StringBytes(values[i]) - 1;
    const std::size_t whole =
        values[i].bytes > bytes ? bytes - lf::kCutTextEndBytes : bytes;
    for (std::size_t at = 0; at < whole; ++at) {
      const char c = static_cast<const volatile char*>(values[i].as.s)[at];
      out[at] = static_cast<std::byte>(c == '\0' ? '?' : c);
    }
    memcpy(out + whole, lf::kCutTextEnd, bytes - whole);
    out[bytes] = std::byte{0};
    out += bytes + 1;
  }
  return out;
}

// Any record of more than one word; `site` and `values` may be null. kDump:
// with the thread's counters.
template <bool kDump>
void EmitRecord(const countrace_hook_site* site, std::uint32_t event_id,
                const countrace_value* values, std::uint32_t count) noexcept {
  const BusyScope busy;
  const std::size_t payload =
      count == 0 ? 0 : PayloadBytes(*site, values, count);
  const std::size_t dump =
      kDump ? sizeof(lf::ThreadDump) + 8 * lf::ThreadDumpValues(*g_settings)
            : 0;
  const std::size_t bytes = (8 + dump + payload + 7) & ~std::size_t{7};
  CounterValues counters;
  // Whether the multiplexing of event sets has processed this hook.
  [[maybe_unused]] bool seen = busy.nested();
  for (;;) {
    ThreadRing* ring = t_state.ring;
    std::byte* pos = LoadPos(ring);
    // Read inside the retry loop: a handler's dump between ours and the
    // reservation would make the counts go back.
    if constexpr (kDump) {
      counters.mmcr = counters.present = 0;
      if (ring->live != 0) {
        if (ring->counters.rotation.sets != 0 && !seen) {
          seen = true;
          const std::uint32_t before = ring->counters.rotation.set;
          if (IsSetChange(ring->counters.rotation, event_id, ClockNow())) {
            CountSet(ring->counters, before);
          }
        }
        ReadThreadCounters(ring->counters, counters);
      }
    }
    const std::uint64_t now_ns = ClockNow();
    if (!HasRoom(ring, pos, bytes, now_ns)) {
      if (!MakeRoom(bytes, busy.nested(), event_id)) return;
      continue;
    }
    if (!ExchangeIfEqual(&ring->pos, pos, pos + bytes)) continue;
    // Until the header is stored, this word gives the size of the hole.
    StoreHeader(pos, lf::HeaderWord(lf::kEventHole, bytes));
    std::byte* out = pos + 8;
    std::uint16_t id = static_cast<std::uint16_t>(event_id);
    if constexpr (kDump) {
      id |= lf::kEventDumpBit;
      const lf::ThreadDump head = {counters.mmcr, counters.present};
      memcpy(out, &head, sizeof(head));
      memcpy(out + sizeof(head), counters.value, dump - sizeof(head));
      out += dump;
    }
    if (count != 0) out = StorePayload(out, *site, values, count);
    memset(out, 0, static_cast<std::size_t>(pos + bytes - out));
    StoreHeader(pos, lf::HeaderWord(id, now_ns));
    return;
  }
}

void EmitPayload(const countrace_hook_site* site, std::uint32_t event_id,
                 const countrace_value* values, std::uint32_t count) noexcept {
  EmitRecord<false>(site, event_id, values, count);
}
void EmitDump(std::uint32_t event_id) noexcept {
  EmitRecord<true>(nullptr, event_id, nullptr, 0);
}
void EmitPayloadDump(const countrace_hook_site* site, std::uint32_t event_id,
                     const countrace_value* values,
                     std::uint32_t count) noexcept {
  EmitRecord<true>(site, event_id, values, count);
}

// The code that fires the hook. The macros expand there, so it is the caller of
// the sink.
#define COUNTRACE_HOOK_CALLER() \
  reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

void EmitByRule(std::uint32_t event_id) noexcept {
  const DumpDecision decision =
      DecideDump({event_id, nullptr, nullptr, 0, COUNTRACE_HOOK_CALLER()});
  if (!decision.dump) return Emit(event_id);
  EmitDump(event_id);
  NoteDump(decision);
}
void EmitPayloadAsked(const countrace_hook_site* site, std::uint32_t event_id,
                      const countrace_value* values,
                      std::uint32_t count) noexcept {
  const DumpDecision decision =
      DecideDump({event_id, site, values, count, COUNTRACE_HOOK_CALLER()});
  if (!decision.dump) return EmitPayload(site, event_id, values, count);
  EmitPayloadDump(site, event_id, values, count);
  NoteDump(decision);
}
#undef COUNTRACE_HOOK_CALLER

// The same in a process whose hooks must ask (guarded_hooks.h).
template <auto kEmit>
void EmitGuarded(std::uint32_t event_id) noexcept {
  if (!DiscardsRecord()) kEmit(event_id);
}
template <auto kEmit>
void EmitPayloadGuarded(const countrace_hook_site* site, std::uint32_t event_id,
                        const countrace_value* values,
                        std::uint32_t count) noexcept {
  if (!DiscardsRecord()) kEmit(site, event_id, values, count);
}

template <auto kEmit, auto kEmitPayload>
constexpr countrace_sink kGuardedSink = {
    sizeof(countrace_sink), COUNTRACE_ABI_VERSION, &EmitGuarded<kEmit>,
    &EmitPayloadGuarded<kEmitPayload>};

constexpr countrace_sink kSink = {sizeof(countrace_sink), COUNTRACE_ABI_VERSION,
                                  &Emit, &EmitPayload};
constexpr countrace_sink kDumpSink = {
    sizeof(countrace_sink), COUNTRACE_ABI_VERSION, &EmitDump, &EmitPayloadDump};

constexpr countrace_sink kRuleSink = {sizeof(countrace_sink),
                                      COUNTRACE_ABI_VERSION, &EmitByRule,
                                      &EmitPayloadAsked};

}  // namespace

const countrace_sink* SinkFor(DumpChoice choice) noexcept {
  const bool guarded = HooksAreGuarded();
  switch (choice) {
    case DumpChoice::kNever:
      return guarded ? &kGuardedSink<&Emit, &EmitPayload> : &kSink;
    case DumpChoice::kAlways:
      return guarded ? &kGuardedSink<&EmitDump, &EmitPayloadDump> : &kDumpSink;
    case DumpChoice::kByRule:
      break;
  }
  return guarded ? &kGuardedSink<&EmitByRule, &EmitPayloadAsked> : &kRuleSink;
}

}  // namespace countrace::runtime
