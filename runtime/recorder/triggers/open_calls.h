// Finds the triggers that the records of hooks fire: calls of segments that
// last too long, ended or not, and hooks that were reached.
//
// In: watched records in time order, and the time up to which they are
// complete. Out: the triggers that fired. Calls nest by thread. User code,
// probes, the kernel's segments and interrupts (by CPU) have separate stacks,
// because their clocks may differ by up to a microsecond. An exit ends the
// newest open call of its hook and the calls opened inside it; an exit without
// an enter is ignored. Lost records remove the open calls that they may
// concern. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_TRIGGERS_OPEN_CALLS_H_
#define COUNTRACE_RUNTIME_RECORDER_TRIGGERS_OPEN_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/trace_info.h"
#include "runtime/recorder/triggers/watched_record.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::runtime {

struct Fired {
  std::size_t trigger = 0;  // index
  std::uint32_t hook = 0;   // id
  std::int32_t pid = -1, tid = -1, cpu = -1;
  std::uint64_t time_ns = 0;      // of the record, or of the check
  std::uint64_t duration_ns = 0;  // of the call so far; kHook: 0
  bool open = false;              // the call has not ended
};

class OpenCalls {
 public:
  // Deeper calls of one thread are not watched.
  static constexpr std::size_t kMaxDepth = 4096;

  // `triggers` must outlive the object.
  explicit OpenCalls(const std::vector<Trigger>& triggers);

  // Sets all registered hooks; ids keep their meaning.
  void SetHooks(const std::vector<logformat::HookInfo>& hooks);
  bool IsWatched(std::uint32_t hook) const { return hooks_[hook].any != 0; }
  // Bit i: a hook matches trigger i.
  std::uint32_t matched() const { return matched_; }

  void Apply(const WatchedRecord& record, std::vector<Fired>& fired);
  // Finds the calls that last too long already. Requires: every record before
  // `now_ns` was applied. `is_gone` is called for a call that would fire; if
  // its thread has ended, the call is removed.
  using IsGone = std::function<bool(std::int32_t pid, std::int32_t tid,
                                    std::uint64_t enter_ns)>;
  void FindTooLong(std::uint64_t now_ns, const IsGone& is_gone,
                   std::vector<Fired>& fired);

  // Calls that were not watched: too many open ones in a thread.
  std::uint64_t too_deep() const { return too_deep_; }
  // Open calls removed because records were lost.
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  struct WatchedHook {
    std::uint32_t segment = 0;  // segment triggers, one bit each
    std::uint32_t point = 0;
    std::uint32_t any = 0;          // both
    std::uint64_t shortest_ns = 0;  // of the segment triggers
    logformat::HookOrigin origin = logformat::HookOrigin::kProgram;
    bool system_call = false;
    bool unnamed = false;  // its exit ends any system call (FORMAT.md 4.4)
  };
  struct Call {
    std::uint64_t enter_ns;
    std::uint32_t hook;
    std::uint32_t waiting;  // triggers that it has not fired
  };
  struct Stack {
    std::int32_t pid = -1, tid = -1, cpu = -1;
    std::vector<Call> calls;
    std::uint64_t too_deep = 0;  // open calls above `calls`
    // Before this time no call lasts too long.
    std::uint64_t next_ns = ~std::uint64_t{0};
  };

  void Enter(const WatchedRecord& record, std::uint32_t hook);
  void Exit(const WatchedRecord& record, std::uint32_t hook,
            std::vector<Fired>& fired);
  void Forget(const WatchedRecord& record);
  void FireLonger(const Stack& stack, Call& call, std::uint64_t now_ns,
                  bool open, std::vector<Fired>& fired) const;
  static std::uint64_t Key(logformat::HookOrigin origin, std::int32_t id);
  void DropEmpty();

  const std::vector<Trigger>& triggers_;
  std::vector<WatchedHook> hooks_;  // by id
  std::uint32_t matched_ = 0;
  absl::flat_hash_map<std::uint64_t, Stack> stacks_;
  std::uint64_t too_deep_ = 0, forgotten_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_TRIGGERS_OPEN_CALLS_H_
