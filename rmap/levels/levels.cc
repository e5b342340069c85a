#include "rmap/levels/levels.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace countrace::rmap {

using logformat::LevelScope;

std::unique_ptr<Levels> Levels::Of(const logformat::TraceInfo& info,
                                   const ThreadRegistry& registry,
                                   TimelineObserver* next) {
  const auto is_level = [](const logformat::HookInfo& hook) {
    return hook.level != LevelScope::kNone;
  };
  if (std::ranges::none_of(info.hooks, is_level)) return nullptr;
  return std::unique_ptr<Levels>(new Levels(info, registry, next));
}

Levels::Levels(const logformat::TraceInfo& info, const ThreadRegistry& registry,
               TimelineObserver* next)
    : info_(info),
      registry_(registry),
      next_(next == nullptr ? nobody_ : *next) {
  for (const logformat::HookInfo& hook : info.hooks) {
    if (hook.level == LevelScope::kNone) continue;
    if (hook.id >= hooks_.size()) hooks_.resize(hook.id + std::size_t{1});
    hooks_[hook.id] = &hook;
  }
  std::vector<std::string> events = info.cpu_events;
  events.resize(std::min(events.size(), kMaxMeasures));
  kinds_ = CounterKinds(events);
  instants_ = RecordedInstants(kinds_);
}

// --- Owners ------------------------------------------------------------------

std::uint32_t Levels::OwnerOf(const logformat::HookInfo& hook,
                              const ThreadState& thread) {
  if (hook.level == LevelScope::kThread) {
    return static_cast<std::uint32_t>(thread.index);
  }
  return hook.level == LevelScope::kProcess && thread.process != nullptr
             ? static_cast<std::uint32_t>(thread.process->index)
             : 0;
}

// The program of `thread` began in the trace, its levels down.
bool Levels::BeginsDown(const logformat::HookInfo& hook,
                        const ThreadState& thread) const {
  if (thread.process == nullptr || began_lossy_) return false;
  if (info_.scope == logformat::SessionScope::kHooksOnly) {
    return !info_.command.empty();
  }
  // Any program may have raised the machine's.
  if (hook.level == LevelScope::kMachine) {
    return info_.scope == logformat::SessionScope::kCommand &&
           !info_.command.empty();
  }
  const ProcessState& process = *thread.process;
  return execed_.contains(static_cast<std::uint32_t>(process.index)) ||
         (hook.level == LevelScope::kThread
              ? thread.forked
              : std::ranges::any_of(
                    process.threads, [&process](const ThreadState* one) {
                      return one->tid == process.pid && one->forked;
                    }));
}

OwnedLevel& Levels::Level(const logformat::HookInfo& hook,
                          const ThreadState& thread, std::uint64_t time_ns) {
  const std::uint32_t owner = OwnerOf(hook, thread);
  OwnedLevel*& level = by_owner_[{hook.id, owner}];
  if (level != nullptr) return *level;
  level = &owned_.emplace_back(OwnedLevel{.hook = &hook, .owner = owner});
  level->since_ns = time_ns;
  level->counts.resize(kinds_.size());
  level->doubted = any_lost_ || !BeginsDown(hook, thread);
  if (hook.level == LevelScope::kThread) {
    level->doubted |= thread.hooks_lost;
    of_thread_[owner].push_back(level);
  } else if (hook.level == LevelScope::kProcess) {
    level->doubted |= thread.process != nullptr && thread.process->hooks_lost;
    of_process_[owner].push_back(level);
  } else {
    of_machine_.push_back(level);
    level->doubted |= hooks_lost_;
  }
  level->shown_ns = std::max(begin_ns_, info_.begin_ns);
  if (level->doubted) level->shown_up.reset();
  return *level;
}

// --- Changes -----------------------------------------------------------------

void Levels::Begin(std::uint64_t time_ns, bool lost) {
  begin_ns_ = time_ns;
  began_lossy_ |= lost;
  for (OwnedLevel& level : owned_) {
    level.raises = level.up_ns = level.on_cpu_ns = 0;
    // Its state at the begin is known or not, whatever was lost before.
    level.doubted = lost || !level.known;
    std::ranges::fill(level.counts, OwnedLevel::Count());
    level.since_ns = std::max(level.since_ns, time_ns);
  }
}

bool Levels::IsEnded(const OwnedLevel& level) const {
  switch (level.hook->level) {
    case LevelScope::kThread:
      return registry_.threads()[level.owner].exited;
    case LevelScope::kProcess:
      return registry_.processes()[level.owner].ended;
    default:
      return false;
  }
}

std::uint64_t Levels::SeenOf(const OwnedLevel& level) const {
  if (level.hook->level == LevelScope::kThread) {
    return registry_.threads()[level.owner].last_seen_ns;
  }
  std::uint64_t seen_ns = 0;
  for (const auto* thread : registry_.processes()[level.owner].threads) {
    seen_ns = std::max(seen_ns, thread->last_seen_ns);
  }
  return seen_ns;
}

void Levels::Settle(OwnedLevel& level, std::uint64_t time_ns) const {
  if (IsEnded(level)) time_ns = std::min(time_ns, SeenOf(level));
  if (level.track.up()) level.up_ns += Less(time_ns, level.since_ns);
  level.since_ns = std::max(level.since_ns, time_ns);
  // What is attributed later lies behind what was on each CPU.
  std::uint64_t done_ns = time_ns;
  for (const std::uint64_t of_cpu : done_ns_) {
    if (of_cpu != 0) done_ns = std::min(done_ns, of_cpu);
  }
  level.track.Forget(done_ns);
}

void Levels::Show(OwnedLevel& level, std::uint64_t time_ns,
                  std::optional<bool> up, ThreadIndex by,
                  bool end_inferred) const {
  if (up == level.shown_up) return;
  if (level.shown_up != false && level.shown_ns < time_ns) {
    next_.OnLevel({.hook_id = level.hook->id,
                   .scope = level.hook->level,
                   .owner = level.owner,
                   .by = level.shown_by,
                   .begin_ns = level.shown_ns,
                   .end_ns = time_ns,
                   .known = level.shown_up.has_value(),
                   .end_inferred = end_inferred});
  }
  level.shown_up = up;
  level.shown_ns = std::max(level.shown_ns, time_ns);
  level.shown_by = by;
}

void Levels::OnRecord(const logformat::EventRecord& record,
                      const ThreadState& thread, std::uint64_t time_ns,
                      bool paused) {
  const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
  const logformat::HookInfo* const hook =
      hook_id < hooks_.size() ? hooks_[hook_id] : nullptr;
  std::uint64_t on = 0;
  if (hook == nullptr || record.payload.size() < sizeof(on)) return;
  std::memcpy(&on, record.payload.data(), sizeof(on));
  OwnedLevel& level = Level(*hook, thread, time_ns);
  if (on != 0 && !level.track.up() && !paused) ++level.raises;
  Settle(level, time_ns);
  level.doubted |= !level.track.Set(level.since_ns, on != 0);
  // Until the loss ends, a later record may be among the lost.
  level.known = time_ns > lost_until_ns_;
  Show(level, time_ns, level.known ? std::optional(on != 0) : std::nullopt,
       thread.index);
}

void Levels::OnExec(const ThreadState& thread, std::uint64_t time_ns) {
  if (thread.process == nullptr) return;
  execed_.insert(static_cast<std::uint32_t>(thread.process->index));
  for (const ThreadState* sibling : thread.process->threads) {
    ForEachOf(sibling->index, [&](OwnedLevel& level) {
      if (level.hook->level == LevelScope::kMachine || !level.track.up())
        return;
      Settle(level, time_ns);
      level.doubted |= !level.track.Set(level.since_ns, false);
      if (level.known) Show(level, time_ns, false);
    });
  }
}

void Levels::OnLoss(const LossSpan& loss) {
  lost_until_ns_ = std::max(lost_until_ns_, loss.end_ns);
  const auto doubt = [this, &loss](OwnedLevel& level) {
    level.doubted = true;
    level.known = false;
    Show(
        level,
        IsEnded(level) ? std::min(SeenOf(level), loss.begin_ns) : loss.begin_ns,
        std::nullopt);
  };
  hooks_lost_ |= loss.cpu < 0;
  // The kernel's lost records may hold an exec, or the end of any owner.
  if (loss.cpu >= 0 || loss.thread == kNoThread ||
      Thread(loss.thread).process == nullptr) {
    any_lost_ = true;
    std::ranges::for_each(owned_, doubt);
  } else {
    ForEachOf(loss.thread, doubt);
  }
  next_.OnLoss(loss);
}

void Levels::Finish(std::uint64_t end_ns, bool exits) {
  for (OwnedLevel& level : owned_) {
    const bool may_be_gone =
        !exits && level.hook->level != LevelScope::kMachine;
    const std::uint64_t until_ns =
        may_be_gone ? std::min(SeenOf(level), end_ns) : end_ns;
    const bool ended = IsEnded(level), lossy = any_lost_ || hooks_lost_;
    // With records lost, it may have lived on.
    if (ended && lossy && level.shown_up == true) {
      Show(level, SeenOf(level), std::nullopt);
    }
    Show(level, ended && !lossy ? std::min(SeenOf(level), until_ns) : until_ns,
         false, kNoThread, may_be_gone);
    if (!level.track.up()) continue;
    level.doubted |= may_be_gone;
    Settle(level, until_ns);
  }
}

std::vector<const logformat::HookInfo*> Levels::Named(
    const std::string& name) const {
  std::vector<const logformat::HookInfo*> named;
  for (const logformat::HookInfo* const hook : hooks_) {
    if (hook != nullptr && hook->name == name) named.push_back(hook);
  }
  return named;
}

std::optional<bool> Levels::IsUp(
    const std::vector<const logformat::HookInfo*>& levels,
    const ThreadState& thread) const {
  std::optional<bool> up = false;
  for (const logformat::HookInfo* const hook : levels) {
    const auto found = by_owner_.find({hook->id, OwnerOf(*hook, thread)});
    const bool known = found != by_owner_.end() ? found->second->known
                                                : !hooks_lost_ && !any_lost_ &&
                                                      BeginsDown(*hook, thread);
    if (!known) {
      up.reset();
    } else if (found != by_owner_.end() && found->second->track.up()) {
      return true;
    }
  }
  return up;
}

}  // namespace countrace::rmap
