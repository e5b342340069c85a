#include "runtime/recorder/triggers/open_calls.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/text/glob.h"
#include "logformat/packet_layout.h"
#include "logformat/system_call_exit.h"

namespace countrace::runtime {
namespace {

using logformat::HookKind;
using logformat::HookOrigin;

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
// From this number on, the stacks are searched for ended threads.
constexpr std::size_t kManyStacks = 4096;

constexpr HookOrigin kOrigins[] = {HookOrigin::kProgram, HookOrigin::kProbe,
                                   HookOrigin::kKernel, HookOrigin::kInterrupt};

std::uint64_t AddNs(std::uint64_t time_ns, std::uint64_t ns) {
  return time_ns > kNever - ns ? kNever : time_ns + ns;
}

}  // namespace

OpenCalls::OpenCalls(const std::vector<Trigger>& triggers)
    : triggers_(triggers), hooks_(logformat::kHookIdMax + 1) {}

void OpenCalls::SetHooks(const std::vector<logformat::HookInfo>& hooks) {
  for (const logformat::HookInfo& hook : hooks) {
    if (hook.id >= hooks_.size()) continue;
    WatchedHook watched{.origin = hook.origin};
    const std::string name = hook.FullName();
    for (std::size_t i = 0; i < triggers_.size(); ++i) {
      const Trigger& trigger = triggers_[i];
      const bool segment = trigger.kind == TriggerKind::kSegment;
      if (trigger.glob.empty() ||
          (segment && hook.kind != HookKind::kSegment) ||
          !base::GlobMatches(trigger.glob.c_str(), name.c_str())) {
        continue;
      }
      (segment ? watched.segment : watched.point) |= 1u << i;
      if (!segment) continue;
      watched.shortest_ns =
          watched.shortest_ns == 0
              ? trigger.longer_than_ns
              : std::min(watched.shortest_ns, trigger.longer_than_ns);
    }
    watched.any = watched.segment | watched.point;
    matched_ |= watched.any;
    watched.system_call = hook.origin == HookOrigin::kKernel &&
                          hook.provider.starts_with("syscall");
    watched.unnamed =
        watched.system_call &&
        hook.name == std::to_string(logformat::kUnnamedSystemCall);
    if (watched.unnamed) watched.any = ~std::uint32_t{0};
    hooks_[hook.id] = watched;
  }
}

std::uint64_t OpenCalls::Key(HookOrigin origin, std::int32_t id) {
  return static_cast<std::uint64_t>(origin) << 32 |
         static_cast<std::uint32_t>(id);
}

void OpenCalls::FireLonger(const Stack& stack, Call& call, std::uint64_t now_ns,
                           bool open, std::vector<Fired>& fired) const {
  const std::uint64_t duration =
      now_ns > call.enter_ns ? now_ns - call.enter_ns : 0;
  for (std::size_t i = 0; i < triggers_.size(); ++i) {
    if ((call.waiting >> i & 1) == 0 ||
        duration <= triggers_[i].longer_than_ns) {
      continue;
    }
    call.waiting &= ~(1u << i);
    fired.push_back({.trigger = i,
                     .hook = call.hook,
                     .pid = stack.pid,
                     .tid = stack.tid,
                     .cpu = stack.cpu,
                     .time_ns = now_ns,
                     .duration_ns = duration,
                     .open = open});
  }
}

void OpenCalls::Enter(const WatchedRecord& record, std::uint32_t hook) {
  const WatchedHook& watched = hooks_[hook];
  const bool interrupt = watched.origin == HookOrigin::kInterrupt;
  Stack& stack =
      stacks_[Key(watched.origin, interrupt ? record.cpu : record.tid)];
  stack.pid = record.pid;
  stack.tid = record.tid;
  stack.cpu = record.cpu;
  if (stack.calls.size() == kMaxDepth) {
    ++stack.too_deep;
    ++too_deep_;
    return;
  }
  stack.calls.push_back(
      {record.time_ns, hook, watched.segment & ~record.failed});
  stack.next_ns =
      std::min(stack.next_ns, AddNs(record.time_ns, watched.shortest_ns));
}

void OpenCalls::Exit(const WatchedRecord& record, std::uint32_t hook,
                     std::vector<Fired>& fired) {
  const HookOrigin origin = hooks_[hook].origin;
  const auto found = stacks_.find(
      Key(origin, origin == HookOrigin::kInterrupt ? record.cpu : record.tid));
  if (found == stacks_.end()) return;
  Stack& stack = found->second;
  if (stack.too_deep > 0) {
    --stack.too_deep;
    return;
  }
  for (std::size_t i = stack.calls.size(); i-- > 0;) {
    const std::uint32_t open = stack.calls[i].hook;
    if (open != hook && !(hooks_[hook].unnamed && hooks_[open].system_call)) {
      continue;
    }
    FireLonger(stack, stack.calls[i], record.time_ns, false, fired);
    stack.calls.resize(i);
    return;
  }
}

void OpenCalls::Forget(const WatchedRecord& record) {
  // Lost kernel records: a call may have ended on any CPU.
  if (record.kind == WatchedKind::kLoss && record.cpu >= 0) {
    for (auto& [key, stack] : stacks_) {
      if (key >> 32 == static_cast<std::uint64_t>(HookOrigin::kProgram)) {
        continue;
      }
      forgotten_ += stack.calls.size();
      stack.calls.clear();
      stack.too_deep = 0;
    }
    return;
  }
  for (const HookOrigin origin : kOrigins) {
    if (origin == HookOrigin::kInterrupt) continue;
    const bool loss = record.kind == WatchedKind::kLoss;
    if (loss && origin != HookOrigin::kProgram) continue;
    const auto found = stacks_.find(Key(origin, record.tid));
    if (found == stacks_.end()) continue;
    if (loss) forgotten_ += found->second.calls.size();
    stacks_.erase(found);
  }
}

void OpenCalls::Apply(const WatchedRecord& record, std::vector<Fired>& fired) {
  if (record.kind != WatchedKind::kHook) return Forget(record);
  const std::uint32_t hook = logformat::EventHookId(record.event_id);
  const WatchedHook& watched = hooks_[hook];
  if ((record.event_id & logformat::kEventExitBit) != 0) {
    if (watched.segment != 0 || watched.unnamed) Exit(record, hook, fired);
    return;
  }
  const std::uint32_t reached = watched.point & ~record.failed;
  for (std::size_t i = 0; reached >> i != 0; ++i) {
    if ((reached >> i & 1) == 0) continue;
    fired.push_back({.trigger = i,
                     .hook = hook,
                     .pid = record.pid,
                     .tid = record.tid,
                     .cpu = record.cpu,
                     .time_ns = record.time_ns});
  }
  if (watched.segment != 0) Enter(record, hook);
}

void OpenCalls::DropEmpty() {
  absl::erase_if(stacks_, [](const auto& entry) {
    return entry.second.calls.empty() && entry.second.too_deep == 0;
  });
}

void OpenCalls::FindTooLong(std::uint64_t now_ns, const IsGone& is_gone,
                            std::vector<Fired>& fired) {
  if (stacks_.size() > kManyStacks) DropEmpty();
  for (auto& [key, stack] : stacks_) {
    if (now_ns <= stack.next_ns) continue;
    stack.next_ns = kNever;
    for (std::size_t i = 0; i < stack.calls.size(); ++i) {
      Call& call = stack.calls[i];
      std::uint64_t next_ns = kNever;
      bool due = false;
      for (std::size_t t = 0; t < triggers_.size(); ++t) {
        if ((call.waiting >> t & 1) == 0) continue;
        const std::uint64_t at =
            AddNs(call.enter_ns, triggers_[t].longer_than_ns);
        if (now_ns > at) {
          due = true;
        } else {
          next_ns = std::min(next_ns, at);
        }
      }
      if (due &&
          key >> 32 != static_cast<std::uint64_t>(HookOrigin::kInterrupt) &&
          is_gone(stack.pid, stack.tid, call.enter_ns)) {
        // Calls above it began later, perhaps in another thread with this tid.
        stack.calls.erase(stack.calls.begin() + static_cast<std::ptrdiff_t>(i));
        --i;
        continue;
      }
      if (due) FireLonger(stack, call, now_ns, true, fired);
      stack.next_ns = std::min(stack.next_ns, next_ns);
    }
  }
}

}  // namespace countrace::runtime
