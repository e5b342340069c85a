#include "tests/rmap/hooked_program.h"

#include <array>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "logformat/jump_hook.h"
#include "tests/rmap/lost_records.h"

namespace countrace::test_support {
namespace {

class HookedProgramWriter {
 public:
  explicit HookedProgramWriter(std::uint32_t seed)
      : seed_(seed),
        leaves_(seed % 5 < 2),
        random_(seed),
        trace_(std::make_unique<MemoryTrace>(seed % 2 == 1)) {}

  std::unique_ptr<MemoryTrace> Run() {
    Describe();
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      threads_[i].tid = 100 + static_cast<std::int32_t>(i);
      threads_[i].pid = i < 3 ? 100 : 103;
    }
    trace_->Dump(now_ns_, 0, logformat::CountersReason::kBegin, 0, Values());
    for (const Thread& thread : threads_) {
      trace_->State(now_ns_, 0, {thread.pid, thread.tid, 1, 0}, "sim");
    }
    for (int step = 0; step < 600; ++step) Step();
    trace_->Dump(now_ns_ + 1, 0, logformat::CountersReason::kEnd,
                 static_cast<std::uint32_t>(TidOf(running_)), Values());
    if (seed_ % 2 == 1) {
      LostRecords lost(seed_ / 2, *trace_);
      trace_->RemoveOf(lost);
    }
    return std::move(trace_);
  }

 private:
  struct Thread {
    std::int32_t pid = 0, tid = 0;
    std::uint32_t set = 0;
    Counters counts = Counters(5, 0);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> open;  // hook, begin
  };
  static constexpr std::uint32_t kHook = 10, kPoint = 14, kJump = 20;

  std::uint64_t Pick(std::uint64_t n) { return random_() % n; }
  bool has_sets() const { return seed_ % 3 != 0; }
  std::int32_t TidOf(std::size_t thread) const {
    return thread < threads_.size() ? threads_[thread].tid : 0;
  }
  Counters Values() const { return {now_ns_, switches_}; }

  void Describe() {
    logformat::TraceInfo& info = trace_->mutable_info();
    info.cpus = 1;
    info.begin_ns = now_ns_;
    info.scope = logformat::SessionScope::kSystem;
    info.cpu_events = {"task-clock", "context-switches"};
    info.thread_events = {"a", "b", "first", "second", "third"};
    if (has_sets()) info.thread_set_sizes = {2, 1};
    if (seed_ % 4 == 1) {
      info.thread_counter_limits.resize(info.thread_events.size());
      for (auto& limit : info.thread_counter_limits) limit.width = 12;
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      trace_->AddHook(kHook + i, logformat::HookKind::kSegment, "sim",
                      std::string(1, static_cast<char>('a' + i)));
    }
    trace_->AddHook(kPoint, logformat::HookKind::kPoint, "sim", "point");
    trace_->AddHook(kJump, logformat::HookKind::kPoint,
                    logformat::kJumpProvider, logformat::kJumpName,
                    logformat::HookOrigin::kProgram,
                    {logformat::PayloadType::kUnsigned});
  }

  // As the runtime writes it: always counted events, then those of the set.
  std::optional<HookDump> DumpOf(const Thread& thread) {
    if (Pick(10) == 0) return std::nullopt;
    HookDump dump{has_sets() ? thread.set : 0, 0, {}};
    const std::size_t first = !has_sets() || thread.set == 0 ? 2 : 4;
    const std::size_t count = !has_sets() ? 3 : thread.set == 0 ? 2 : 1;
    dump.counters = {thread.counts[0], thread.counts[1]};
    for (std::size_t i = 0; i < count; ++i) {
      dump.counters.push_back(thread.counts[first + i]);
    }
    if (seed_ % 4 == 1) {
      for (std::uint64_t& value : dump.counters) value &= 0xfff;
    }
    dump.present = (1u << dump.counters.size()) - 1;
    if (Pick(12) == 0) dump.present &= ~(1u << Pick(dump.counters.size()));
    // perf multiplexed this value.
    if (Pick(40) == 0) dump.present |= 1u << (16 + Pick(2));
    return dump;
  }

  void Hook(Thread& thread, std::uint32_t hook, bool exit) {
    trace_->HookRecord(now_ns_, {thread.pid, thread.tid, hook, exit},
                       DumpOf(thread));
  }

  void Step() {
    const std::uint64_t ns = 1 + Pick(50);
    now_ns_ += ns;
    if (running_ < threads_.size()) {
      for (std::size_t i = 0; i < 5; ++i) {
        const bool counted =
            i < 2 || !has_sets() || (threads_[running_].set == 0) == (i < 4);
        if (counted) threads_[running_].counts[i] += Pick(10 * ns);
      }
    }
    const std::uint64_t action = Pick(100);
    if (running_ == threads_.size() || action < 12) {
      const std::size_t next = Pick(threads_.size() + 1);
      trace_->Dispatch(now_ns_, 0, static_cast<std::uint32_t>(TidOf(running_)),
                       static_cast<std::uint32_t>(TidOf(next)),
                       logformat::kSwitchInterruptible, Values());
      ++switches_;
      running_ = next;
      return;
    }
    Thread& thread = threads_[running_];
    if (action < 50 && thread.open.size() < 6) {
      const std::uint32_t hook = kHook + static_cast<std::uint32_t>(Pick(4));
      thread.open.emplace_back(hook, now_ns_);
      Hook(thread, hook, /*exit=*/false);
    } else if (action < 85 && !thread.open.empty()) {
      // Now and then a call is left without its exit.
      if (leaves_ && Pick(20) == 0) thread.open.pop_back();
      if (thread.open.empty()) return;
      Hook(thread, thread.open.back().first, /*exit=*/true);
      thread.open.pop_back();
    } else if (action < 88) {
      Hook(thread, kPoint, /*exit=*/false);
    } else if (leaves_ && action < 90 && thread.open.size() > 1) {
      const std::uint64_t since_ns =
          Pick(2) == 0 ? 0 : thread.open[thread.open.size() - 2].second;
      if (since_ns != 0) thread.open.pop_back();
      trace_->HookRecord(now_ns_,
                         {thread.pid, thread.tid, kJump, false, 0, {since_ns}},
                         DumpOf(thread));
    } else if (action < 97) {
      thread.set ^= 1;
    } else if (Pick(4) == 0) {
      thread.counts[Pick(5)] = 0;  // by another program
    }
  }

  const std::uint32_t seed_;
  const bool leaves_;
  std::mt19937 random_;
  std::unique_ptr<MemoryTrace> trace_;
  std::array<Thread, 5> threads_;
  std::size_t running_ = 5;  // index; 5: idle
  std::uint64_t now_ns_ = 1000, switches_ = 0;
};

}  // namespace

std::unique_ptr<MemoryTrace> HookedProgram(std::uint32_t seed) {
  return HookedProgramWriter(seed).Run();
}

}  // namespace countrace::test_support
