#include "runtime/rules/rule_replay.h"

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "logformat/system_call_exit.h"
#include "runtime/rules/dump_rule_eval.h"
#include "runtime/rules/kernel_rule_state.h"
#include "runtime/rules/open_segments.h"

namespace countrace::runtime {
namespace {

namespace lf = countrace::logformat;

using Values = std::array<countrace_rule_value, lf::kMaxPayloadValues>;

// Decodes the values of a record as its hook declares them. Returns their
// number.
std::size_t DecodePayload(const lf::HookInfo& hook,
                          std::span<const std::byte> payload, Values& values) {
  std::size_t count = 0;
  for (const lf::PayloadType type : hook.payload) {
    countrace_rule_value value{};
    value.type = static_cast<unsigned char>(type);
    std::size_t used = sizeof(value.bits);
    if (type == lf::PayloadType::kString) {
      value.text = reinterpret_cast<const char*>(payload.data());
      value.text_bytes = strnlen(value.text, payload.size());
      used = value.text_bytes + 1;
    }
    if (payload.size() < used) break;  // damaged: complete values count
    if (type != lf::PayloadType::kString) {
      std::memcpy(&value.bits, payload.data(), sizeof(value.bits));
    }
    payload = payload.subspan(used);
    values[count++] = value;
  }
  return count;
}

// Whether a rule at kernel-side hooks has a condition on data that their
// records do not hold.
bool AsksUnknown(const DumpRule& rule) {
  if (rule.never != 0) return false;
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    if (rule.predicates[i].argument < COUNTRACE_ARGUMENTS) return true;
  }
  return rule.caller_end != 0;
}

// Evaluates the comparisons with `number`, which dynamic hooks do not have.
bool NumberHolds(const DumpRule& rule, const lf::HookInfo& hook,
                 std::uint64_t number) {
  const bool has_number =
      hook.location == hook.provider + ":" + std::to_string(number);
  const countrace_rule_value value = {COUNTRACE_RULE_UNSIGNED, number, nullptr,
                                      0};
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    if (rule.predicates[i].argument != COUNTRACE_ARGUMENT_NUMBER) continue;
    if (!has_number ||
        countrace_predicate_holds(&rule.predicates[i], &value) == 0) {
      return false;
    }
  }
  return true;
}

// The owner of a rule's state at kernel-side hooks: a thread, or a CPU.
using KernelOwner = std::uint64_t;
constexpr KernelOwner kOwnerIsCpu = 1ull << 32;

struct ReplayedThread {
  OpenSegments open;
  std::unordered_map<std::uint32_t, countrace_rule_state> states;  // by hook
};

class RuleReplay final : public lf::ItemSink {
 public:
  RuleReplay(const lf::TraceInfo& info, const std::vector<DumpRule>& rules,
             std::uint64_t tick_ns)
      : info_(info),
        rules_(rules),
        tick_ns_(tick_ns),
        dump_bytes_(lf::CpuDumpBytes(info)) {
    result_.rules.resize(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const DumpRule& rule = rules[i];
      result_.rules[i].quality =
          rule.never != 0                  ? ReplayQuality::kExact
          : rule.caller_end != 0           ? ReplayQuality::kBounded
          : countrace_rule_has_time(&rule) ? ReplayQuality::kInferred
                                           : ReplayQuality::kExact;
    }
    for (const lf::HookInfo& hook : info.hooks) {
      const int rule = FindDumpRule(rules, hook.FullName());
      rule_of_hook_[hook.id] = rule;
      ReplayedRule& result = Result(rule);
      ++result.hooks;
      if (rule < 0 || hook.origin == lf::HookOrigin::kProgram) continue;
      if (!AsksUnknown(rules[rule])) continue;
      result.unknown_at_kernel_hooks = true;
      result.quality = ReplayQuality::kBounded;
    }
    for (const DumpRule& rule : rules) {
      DumpRule& most = most_.emplace_back(rule);
      // Fewer calls may leave every n-th further apart in time; then only the
      // count is a bound.
      if (rule.every_n > 1) most.min_interval_ns = most.every_ticks = 0;
    }
  }

  void OnRecord(const lf::EventRecord& record) override {
    if (record.stream_class == lf::StreamClass::kCpu) {
      OnKernelRecord(record);
      return;
    }
    const std::uint32_t hook_id = lf::EventHookId(record.event_id);
    const auto found = rule_of_hook_.find(hook_id);
    const int rule = found == rule_of_hook_.end() ? -1 : found->second;
    ReplayedRule& result = Result(rule);
    ++result.records;
    if (rule >= 0 && IsDump(rules_[rule], hook_id, record)) ++result.dumps;
  }
  void OnKernelHook(const lf::EventRecord& record) {
    const std::uint32_t hook_id = lf::EventHookId(record.event_id);
    const auto found = rule_of_hook_.find(hook_id);
    const int rule = found == rule_of_hook_.end() ? -1 : found->second;
    ReplayedRule& result = Result(rule);
    ++result.records;
    ++result.kernel_records;
    if (rule < 0 || !IsKernelDump(rules_[rule], hook_id, record)) return;
    ++result.dumps;
    ++result.kernel_dumps;
  }
  void OnDiscardedEvents(const lf::DiscardedEvents& loss) override {
    result_.lost += loss.count;
  }
  void OnDiscardedPackets(const lf::DiscardedPackets& loss) override {
    result_.lost += loss.packets;  // a lower bound
  }

  ReplayResult Take() { return std::move(result_); }

 private:
  ReplayedRule& Result(int rule) {
    return rule < 0 ? result_.unmatched : result_.rules[rule];
  }

  // Removes the state of a thread that ends, or of a program that is replaced
  // (exec).
  void OnKernelRecord(const lf::EventRecord& record) {
    if (lf::IsKernelHookEvent(record.event_id)) return OnKernelHook(record);
    const auto event = static_cast<lf::CpuEvent>(record.event_id);
    if (event == lf::CpuEvent::kExit || event == lf::CpuEvent::kFork) {
      lf::TaskRecord task{};
      std::memcpy(&task, record.bytes.data(), sizeof(task));
      threads_.erase({task.pid, task.tid});
      const auto owner = static_cast<std::uint32_t>(task.tid);
      kernel_states_.erase(kernel_states_.lower_bound({owner, 0}),
                           kernel_states_.lower_bound({owner + 1ull, 0}));
    } else if (event == lf::CpuEvent::kExec) {
      lf::CommRecord exec{};
      std::memcpy(&exec, record.bytes.data(), sizeof(exec));
      threads_.erase(threads_.lower_bound({exec.pid, 0}),
                     threads_.lower_bound({exec.pid + 1, 0}));
    }
  }

  bool IsDump(const DumpRule& rule, std::uint32_t hook_id,
              const lf::EventRecord& record) {
    if (rule.never != 0) return false;
    if (countrace_rule_is_always(&rule)) return true;
    std::unique_ptr<ReplayedThread>& thread =
        threads_[{record.pid, record.tid}];
    if (thread == nullptr) thread = std::make_unique<ReplayedThread>();
    if ((record.event_id & lf::kEventExitBit) != 0) {
      return thread->open.Exit(hook_id);
    }
    const lf::HookInfo& hook = *info_.FindHook(hook_id);
    const bool is_segment = hook.kind == lf::HookKind::kSegment;
    const bool dump = (!is_segment || thread->open.has_room()) &&
                      IsSelected(rule, hook, record, thread->states[hook_id]);
    if (is_segment) thread->open.Enter(hook_id, dump);
    return dump;
  }

  // As dump_rules.bpf.h: a thread stays the same after an exec.
  bool IsKernelDump(const DumpRule& rule, std::uint32_t hook_id,
                    const lf::EventRecord& record) {
    if (rule.never != 0) return false;
    if (countrace_rule_is_always(&rule) != 0) return true;
    const lf::HookInfo& hook = *info_.FindHook(hook_id);
    lf::KernelHookRecord body{};
    std::memcpy(&body, record.bytes.data(), sizeof(body));
    if (!NumberHolds(rule, hook, body.ids >> 48)) return false;
    const std::uint64_t tid = body.ids & 0xffffff;
    const bool of_cpu = tid == 0 || hook.origin == lf::HookOrigin::kInterrupt;
    const KernelOwner owner =
        of_cpu ? kOwnerIsCpu | static_cast<std::uint32_t>(record.cpu) : tid;
    countrace_kernel_rule_state& state = kernel_states_[{owner, hook_id}];
    const DumpRule& asked =
        AsksUnknown(rule) ? most_[&rule - rules_.data()] : rule;
    if ((record.event_id & lf::kEventExitBit) != 0) {
      return countrace_kernel_rule_exit(&asked, &state,
                                        lf::ReturnValueOf(record, dump_bytes_),
                                        record.time_ns, tick_ns_) != 0;
    }
    if (hook.kind == lf::HookKind::kSegment) {
      return countrace_kernel_rule_enter(&asked, &state, 1, record.time_ns,
                                         tick_ns_) != 0;
    }
    return countrace_kernel_rule_point(&asked, &state, record.time_ns,
                                       tick_ns_) != 0;
  }

  bool IsSelected(const DumpRule& rule, const lf::HookInfo& hook,
                  const lf::EventRecord& record, countrace_rule_state& state) {
    Values values;
    const std::size_t count = rule.predicate_count == 0
                                  ? 0
                                  : DecodePayload(hook, record.payload, values);
    for (unsigned i = 0; i < rule.predicate_count; ++i) {
      const countrace_predicate& predicate = rule.predicates[i];
      if (predicate.argument >= count ||
          countrace_predicate_holds(&predicate, &values[predicate.argument]) ==
              0) {
        return false;
      }
    }
    if (countrace_rule_takes_nth(&rule, ++state.passed) == 0) return false;
    if (countrace_rule_has_time(&rule) == 0) return true;
    // Fewer callers may leave every n-th record further apart in time; then
    // only the count is a bound.
    if (rule.caller_end != 0 && rule.every_n > 1) return true;
    if (countrace_rule_is_due(&rule, state.last_ns, record.time_ns, tick_ns_) ==
        0) {
      return false;
    }
    state.last_ns = record.time_ns;
    return true;
  }

  const lf::TraceInfo& info_;
  const std::vector<DumpRule>& rules_;
  // The rules that give the most dumps, if all conditions on data outside the
  // log hold.
  std::vector<DumpRule> most_;
  const std::uint64_t tick_ns_;
  const std::size_t dump_bytes_;
  std::unordered_map<std::uint32_t, int> rule_of_hook_;
  std::map<std::pair<std::int32_t, std::int32_t>,
           std::unique_ptr<ReplayedThread>>
      threads_;  // by (pid, tid)
  std::map<std::pair<KernelOwner, std::uint32_t>, countrace_kernel_rule_state>
      kernel_states_;  // by owner and hook id
  ReplayResult result_;
};

}  // namespace

const char* ReplayQualityName(ReplayQuality quality) {
  switch (quality) {
    case ReplayQuality::kExact:
      return "exact";
    case ReplayQuality::kInferred:
      return "inferred";
    case ReplayQuality::kBounded:
      return "bounded";
  }
  return "unknown";
}

absl::StatusOr<ReplayResult> ReplayDumpRules(
    lf::TraceReader& trace, const std::vector<DumpRule>& rules,
    std::uint64_t tick_ns, const lf::ProgressCallback& progress) {
  RuleReplay replay(trace.info(), rules, tick_ns);
  const absl::Status status = trace.Read(replay, progress);
  if (!status.ok()) return status;
  ReplayResult result = replay.Take();
  for (const std::uint64_t count : trace.session_discarded()) {
    result.lost += count;
  }
  return result;
}

std::uint64_t DumpBytes(std::size_t counters) {
  return sizeof(lf::ThreadDump) + 8 * counters;
}

std::uint64_t KernelDumpBytes(std::size_t counters) { return 8 * counters; }

}  // namespace countrace::runtime
