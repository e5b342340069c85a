// Which triggers the records of hooks fire: calls of segments that last too
// long, ended or not, and hooks that were reached at all.
//
// In: watched records in time order, and how far time has come. Out: what
// fired. Calls nest by thread; user code, probes, the kernel's work and
// interrupts (by CPU) each on their own, because their clocks may differ by
// less than a microsecond. An exit ends the newest open call of its hook and
// what was opened above it; one without an enter is ignored. After lost records
// the open calls they may concern are forgotten. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_TRIGGERS_OPEN_CALLS_H_
#define COUNTRACE_RUNTIME_RECORDER_TRIGGERS_OPEN_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/read/trace_reader.h"
#include "runtime/recorder/triggers/watched_record.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::runtime {

struct Fired {
  std::size_t trigger = 0;  // index
  std::uint32_t hook = 0;   // id
  std::int32_t pid = -1, tid = -1, cpu = -1;
  std::uint64_t time_ns = 0;      // of the record, or of the look
  std::uint64_t duration_ns = 0;  // of the call so far; kHook: 0
  bool open = false;              // the call has not ended
};

class OpenCalls {
 public:
  // Deeper calls of one thread are not watched.
  static constexpr std::size_t kMaxDepth = 4096;

  // `triggers` must outlive the object.
  explicit OpenCalls(const std::vector<Trigger>& triggers);

  // All hooks known now; ids keep their meaning.
  void SetHooks(const std::vector<logformat::HookInfo>& hooks);
  bool IsWatched(std::uint32_t hook) const { return hooks_[hook].any != 0; }
  // Bit i: some hook matches trigger i.
  std::uint32_t matched() const { return matched_; }

  void Apply(const WatchedRecord& record, std::vector<Fired>& fired);
  // Everything before `now_ns` was applied: calls that last too long already.
  // `is_gone` is asked of a call that would fire; if its thread has ended the
  // call is forgotten.
  using IsGone = std::function<bool(std::int32_t pid, std::int32_t tid,
                                    std::uint64_t enter_ns)>;
  void FindTooLong(std::uint64_t now_ns, const IsGone& is_gone,
                   std::vector<Fired>& fired);

  // Calls that were not watched: too many open ones in a thread.
  std::uint64_t too_deep() const { return too_deep_; }
  // Open calls forgotten because records were lost.
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  struct WatchedHook {
    std::uint32_t segment = 0;  // triggers, one bit each
    std::uint32_t point = 0;
    std::uint32_t any = 0;          // both
    std::uint64_t shortest_ns = 0;  // of the segment triggers
    logformat::HookOrigin origin = logformat::HookOrigin::kProgram;
  };
  struct Call {
    std::uint64_t enter_ns;
    std::uint32_t hook;
    std::uint32_t waiting;  // triggers that have not fired for it
  };
  struct Stack {
    std::int32_t pid = -1, tid = -1, cpu = -1;
    std::vector<Call> calls;
    std::uint64_t too_deep = 0;  // open calls above `calls`
    // No call lasts too long before.
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
