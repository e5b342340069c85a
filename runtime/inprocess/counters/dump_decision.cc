#include "runtime/inprocess/counters/dump_decision.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/posix/own_call.h"
#include "base/text/glob.h"
#include "logformat/packet_layout.h"
#include "runtime/inprocess/counters/thread_rotation.h"
#include "runtime/inprocess/process/caller_ranges.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/process/trace_clock.h"
#include "runtime/rules/dump_rule_eval.h"
#include "runtime/rules/open_segments.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

// One element for each hook id; the kernel allocates only the pages that are
// used.
struct ThreadDumpState {
  std::uint32_t session;  // SessionTag() of the recording it counts for
  OpenSegments open;
  countrace_rule_state hooks[lf::kHookIdMax + 1];
};

// Null: not opened yet. Initial-exec: reading it calls nothing, also in a
// signal handler.
__thread ThreadDumpState* t_dumps __attribute__((tls_model("initial-exec")));

// Marks a failed allocation, so that it is not tried again.
ThreadDumpState* const kNoMemory = reinterpret_cast<ThreadDumpState*>(1);

// For each hook: rule index + 1 (0: no rule with conditions) and whether it is
// a segment. Written when a hook is registered, before its gate opens.
constexpr std::uint8_t kSegmentBit = 0x80;
std::uint8_t g_rule_of_hook[lf::kHookIdMax + 1];
static_assert(COUNTRACE_MAX_DUMP_RULES < kSegmentBit);

[[gnu::noinline, gnu::cold]] ThreadDumpState* OpenDumpState() noexcept {
  const SignalBlock block;
  if (t_dumps != nullptr) return t_dumps;  // a signal handler opened it
  if (!MayCall()) return t_dumps = kNoMemory;
  void* memory =
      base::OwnMap(nullptr, sizeof(ThreadDumpState), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED &&
      base::OwnCall(SYS_madvise, memory, sizeof(ThreadDumpState),
                    MADV_WIPEONFORK) != 0) {
    base::OwnCall(SYS_munmap, memory, sizeof(ThreadDumpState));
    memory = MAP_FAILED;
  }
  t_dumps =
      memory == MAP_FAILED ? kNoMemory : static_cast<ThreadDumpState*>(memory);
  return t_dumps;
}

// The thread takes part in another recording: all counts begin at 0.
[[gnu::noinline, gnu::cold]] void BeginCounting(
    ThreadDumpState* dumps) noexcept {
  const SignalBlock block;
  base::OwnCall(SYS_madvise, dumps, sizeof(*dumps), MADV_DONTNEED);
  dumps->session = SessionTag();
}

// Adds one and returns the sum; a handler of this thread cannot come between.
std::uint64_t CountOne(unsigned long long* word) noexcept {
  std::uint64_t before = 1;
#if defined(__x86_64__)
  __asm__ volatile("xaddq %0, %1" : "+r"(before), "+m"(*word) : : "memory");
#else
  before = __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
#endif
  return before + 1;
}

bool Holds(const countrace_predicate& predicate,
           const HookEvent& event) noexcept {
  if (event.site == nullptr || predicate.argument >= event.count) return false;
  const countrace_value& value = event.values[predicate.argument];
  const std::uint8_t type = event.site->types[predicate.argument];
  const countrace_rule_value asked = {
      type, value.as.u, type == COUNTRACE_TYPE_STRING ? value.as.s : nullptr,
      value.bytes};
  return countrace_predicate_holds(&predicate, &asked) != 0;
}

// Checks the conditions in the order of dump_rule_eval.h.
DumpDecision Ask(std::uint32_t index, const HookEvent& event,
                 countrace_rule_state& state) noexcept {
  const countrace_dump_rule& rule = g_settings->dump_rules[index];
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    if (!Holds(rule.predicates[i], event)) return {false, nullptr};
  }
  if (rule.caller_end != 0 && !IsInCallerRange(index, event.caller)) {
    return {false, nullptr};
  }
  if (countrace_rule_takes_nth(&rule, CountOne(&state.passed)) == 0) {
    return {false, nullptr};
  }
  if (countrace_rule_has_time(&rule) == 0) return {true, nullptr};
  const std::uint64_t now_ns = ClockNow();
  if (countrace_rule_is_due(&rule, state.last_ns, now_ns,
                            g_settings->tick_ns) == 0) {
    return {false, nullptr};
  }
  // Stored at once, for handlers that run before the record is written.
  state.last_ns = now_ns;
  return {true, &state};
}

}  // namespace

DumpDecision DecideDump(const HookEvent& event) noexcept {
  ThreadDumpState* dumps = t_dumps;
  if (dumps == nullptr) dumps = OpenDumpState();
  if (dumps == kNoMemory) return {true, nullptr};
  if (dumps->session != SessionTag()) [[unlikely]]
    BeginCounting(dumps);
  const std::uint32_t hook_id =
      lf::EventHookId(static_cast<std::uint16_t>(event.event_id));
  if ((event.event_id & lf::kEventExitBit) != 0) {
    return {dumps->open.Exit(hook_id), nullptr};
  }
  const std::uint8_t entry = g_rule_of_hook[hook_id];
  const bool is_segment = (entry & kSegmentBit) != 0;
  DumpDecision decision = {false, nullptr};
  if (!is_segment || dumps->open.has_room()) {
    const std::uint32_t index = (entry & ~kSegmentBit & 0xffu) - 1;
    decision = Ask(index, event, dumps->hooks[hook_id]);
  }
  if (is_segment) dumps->open.Enter(hook_id, decision.dump);
  return decision;
}

void NoteDump(const DumpDecision& decision) noexcept {
  if (decision.timed != nullptr) decision.timed->last_ns = ClockNow();
}

DumpChoice ChooseDumps(const countrace_hook_site& site,
                       std::uint32_t hook_id) noexcept {
  if (g_settings->thread_event_count == 0) return DumpChoice::kNever;
  NoteHookKind(site.kind == COUNTRACE_SITE_POINT, hook_id);
  const std::uint32_t rules = g_settings->dump_rule_count;
  if (rules == 0) return DumpChoice::kAlways;
  char name[256];
  snprintf(name, sizeof(name), "%s:%s", site.provider, site.name);
  for (std::uint32_t i = 0; i < rules && i < COUNTRACE_MAX_DUMP_RULES; ++i) {
    const countrace_dump_rule& rule = g_settings->dump_rules[i];
    if (!base::GlobMatches(rule.glob, name)) continue;
    if (rule.never != 0) return DumpChoice::kNever;
    if (countrace_rule_is_always(&rule) != 0) return DumpChoice::kAlways;
    const bool is_point = site.kind == COUNTRACE_SITE_POINT;
    g_rule_of_hook[hook_id] =
        static_cast<std::uint8_t>((i + 1) | (is_point ? 0u : kSegmentBit));
    return DumpChoice::kByRule;
  }
  return DumpChoice::kNever;
}

void ForgetDumpState() noexcept {
  ThreadDumpState* const dumps = t_dumps;
  t_dumps = nullptr;
  if (dumps != nullptr && dumps != kNoMemory && MayCall()) {
    base::OwnCall(SYS_munmap, dumps, sizeof(ThreadDumpState));
  }
}

}  // namespace countrace::runtime
