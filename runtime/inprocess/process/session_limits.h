// What a process accepts from a session that it joins. Sizes, counts and texts
// of another process become its own: none of them may lead outside of an array.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_SESSION_LIMITS_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_SESSION_LIMITS_H_

#include <string.h>

#include <cstdint>

#include "logformat/session_layout.h"

namespace countrace::runtime {

// More than `record --sub-buffers` takes.
inline constexpr std::uint32_t kMaxSubBuffers = 1 << 16;

template <std::size_t N>
bool EndsInField(const char (&field)[N]) noexcept {
  return memchr(field, '\0', N) != nullptr;
}

inline bool EventsAreWithinLimits(
    const logformat::SessionControl& session) noexcept {
  if (session.thread_event_count > logformat::kSessionEvents ||
      session.thread_set_count > logformat::kSessionEventSets) {
    return false;
  }
  std::uint32_t in_sets = 0;
  for (std::uint32_t i = 0; i < session.thread_set_count; ++i) {
    const std::uint32_t size = session.thread_set_sizes[i];
    if (size > logformat::kMaxCounters) return false;
    in_sets += size;
  }
  return in_sets <= session.thread_event_count &&
         logformat::ThreadDumpValues(session) <= logformat::kMaxCounters;
}

inline bool RuleIsWithinLimits(const countrace_dump_rule& rule) noexcept {
  if (rule.predicate_count > COUNTRACE_MAX_PREDICATES) return false;
  for (std::uint32_t i = 0; i < rule.predicate_count; ++i) {
    if (rule.predicates[i].text_bytes > COUNTRACE_PREDICATE_TEXT_BYTES) {
      return false;
    }
  }
  return EndsInField(rule.glob) && EndsInField(rule.caller) &&
         EndsInField(rule.text);
}

// `session` need not have its table of processes.
inline bool IsWithinLimits(const logformat::SessionControl& session) noexcept {
  if (session.magic != logformat::kSessionMagic ||
      session.version != logformat::kSessionVersion ||
      session.bytes != sizeof(logformat::SessionControl)) {
    return false;
  }
  if (session.recorder_pid <= 0 ||
      session.mode > logformat::SessionMode::kFlight ||
      session.sub_buffer_bytes == 0 ||
      session.sub_buffer_bytes % logformat::kPacketAlignBytes != 0 ||
      session.sub_buffer_bytes > logformat::kMaxPacketBytes ||
      session.sub_buffers > kMaxSubBuffers ||
      session.dump_rule_count > COUNTRACE_MAX_DUMP_RULES ||
      !EndsInField(session.hook_filter) || !EventsAreWithinLimits(session)) {
    return false;
  }
  for (std::uint32_t i = 0; i < session.dump_rule_count; ++i) {
    if (!RuleIsWithinLimits(session.dump_rules[i])) return false;
  }
  return true;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_SESSION_LIMITS_H_
