// The tree of call paths of each process, with the sums of every path.
//
// A node is one path: the parent's path and one more segment. Frames of all
// threads of the process point to nodes. While the trace is read, nodes hold
// inclusive sums only; exclusive = inclusive - sum over the children, computed
// at the end.
// Thread: one.
#ifndef COUNTRACE_RMAP_STATE_CALL_PATHS_H_
#define COUNTRACE_RMAP_STATE_CALL_PATHS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/packet_layout.h"
#include "rmap/result/rare.h"
#include "rmap/result/scaled_count.h"
#include "rmap/result/tables.h"
#include "rmap/state/folded_calls.h"
#include "rmap/state/statistics.h"

namespace countrace::rmap {

// Sum of one thread event over the calls of a path.
struct DumpSum {
  std::uint64_t incl = 0;
  bool any_value = false;  // of a call
  Quality quality = Quality::kExact;
  enum class Scaling : std::uint8_t { kNone, kByCalls, kByTime };
  Scaling scaling = Scaling::kNone;
  // For an estimate (Estimated()): the counted part of `incl`, the part of the
  // calls (or ns) in which it was counted, the variance (absent if unknown),
  // the sum of variance^2 / degrees of freedom, and the number of slices.
  std::uint64_t counted = 0, running = 0, enabled = 0;
  std::optional<double> variance = 0.0;
  double quartic = 0;
  std::uint64_t slices = 0;  // least of the summed estimates
  bool of_unseen = false;    // see ScaledCount

  // Only with multiplexed event sets; copies share it, and only that of a node
  // is written. A slice is one call in which the event was counted, with the
  // part of the call in which it was (ns), or all calls of one rotation.
  struct Sliced {
    SliceSums slices;
    // Calls that the event's set counted in part only: long calls.
    std::uint64_t cut_calls = 0;
    std::uint64_t most = 0;  // counted in one call
    // The calls of one rotation are one slice, because they resemble each other
    // more than others do.
    struct Round {
      std::uint32_t number = 0, turn = 0;
      Slice first, second;      // second: that of `turn`
      std::uint64_t calls = 0;  // counted or not
    };
    // The last two rounds of each thread: not yet in `slices`.
    std::map<ThreadIndex, std::pair<Round, Round>> last;
  };
  std::shared_ptr<Sliced> sliced;

  Sliced& WriteSliced() {
    if (sliced == nullptr) sliced = std::make_shared<Sliced>();
    return *sliced;
  }
  std::uint64_t cut_calls() const {
    return sliced == nullptr ? 0 : sliced->cut_calls;
  }
  // A call in rotation `turn` of its thread; `count` absent: another set was
  // counted.
  void AddCall(ThreadIndex thread, std::uint32_t turn,
               std::uint32_t turns_in_round,
               std::optional<std::uint64_t> count);
  // `calls`: all of them.
  CallSlices Calls(std::uint64_t calls) const;
};

// How far the sums of a path may be from the truth, because records were lost
// or switches not shown: times in which they may be wrong, in either direction.
struct UnseenSums {
  // Its threads may have run besides; may have waited or been blocked
  // otherwise.
  std::uint64_t on_cpu_ns = 0, state_ns = 0;
  // Its calls had this time and may not have had it; or may have had it
  // besides.
  std::uint64_t less_ns = 0, more_ns = 0;
  // Its threads may have been in other segments inside it.
  std::uint64_t inner_ns = 0;
  // Switches and faults that were recorded in less_ns and more_ns.
  std::uint64_t events = 0;
  // Its calls that may have taken another time, and part of them: perhaps none.
  std::uint64_t calls = 0, fewer_calls = 0;
  // Part of the inferred ends: later, there is one.
  std::uint64_t late_exits = 0;

  void Add(const UnseenSums& more) {
    on_cpu_ns += more.on_cpu_ns;
    state_ns += more.state_ns;
    less_ns += more.less_ns;
    more_ns += more.more_ns;
    inner_ns += more.inner_ns;
    events += more.events;
    calls += more.calls;
    fewer_calls += more.fewer_calls;
    late_exits += more.late_exits;
  }
};

// The sums of a path when hook records of its process were lost first: what is
// added later may belong to another path.
struct CertainSums {
  std::uint64_t calls = 0, wall_ns = 0, on_cpu_ns = 0, switches = 0, faults = 0;
};

struct PathNode {
  static constexpr std::uint32_t kFolded = 0;  // hook id of a folding node
  // All values beyond the limits of memory together.
  static constexpr std::uint32_t kOtherValue = 1;

  std::uint32_t hook_id = 0;
  // The value of its calls (rmap/values/): with another one they have another
  // path.
  std::uint32_t value = 0;
  std::uint32_t index = 0;
  std::uint32_t depth = 0;     // 0: root of a process
  PathNode* parent = nullptr;  // null: root of a process, no segment
  // An ancestor is the same segment: its time already holds this node's.
  bool recursive = false;
  // Calls of this path were left without a record of it, so what was recorded
  // inside them later may lie outside.
  bool left_unseen = false;

  struct Child {
    std::uint32_t key;  // CallPaths::KeyOf
    PathNode* node;
  };
  std::vector<Child> children;  // in order of first call

  std::uint64_t calls = 0;
  std::uint64_t begin_inferred = 0, end_inferred = 0;
  std::uint64_t dumped_calls = 0;  // part of `calls`: the exit has counters
  DurationStatistics wall;
  std::uint64_t on_cpu_ns = 0, switches = 0, faults = 0;
  // For this path alone until IncludeChildren(), then inclusive like the
  // others: a thread stays in one path while it is on no CPU.
  std::uint64_t wait_ns = 0, blocked_ns = 0;
  std::vector<DumpSum> dumps;  // one for each thread event

  // --- Rarely used, so behind what each call uses ----------------------------

  // The rest of calls that were open when the tables' range began: they are in
  // all sums but `calls` and `wall`.
  std::uint64_t cut_wall_ns = 0;
  std::uint64_t moved_bytes = 0;  // CallValues: that its calls read or wrote
  Rare<UnseenSums> unseen;
  std::unique_ptr<CertainSums> certain;
  // KernelHooks: calls of a system call that returned an error, by errno.
  std::unique_ptr<std::map<int, std::uint64_t>> errors;
  // KernelHooks: hits of probes that are points while it was the innermost
  // open segment, by hook id.
  std::unique_ptr<std::map<std::uint32_t, std::uint64_t>> points;
  // Only of a root: the calls of its process that have no path of their own.
  std::unique_ptr<FoldedBySegment> folded;

  // Inclusive.
  std::uint64_t wall_ns() const { return wall.sum() + cut_wall_ns; }
  // It is not known whether its thread waited or was blocked in `ns` of it and
  // of the calls around it.
  void DoubtState(std::uint64_t ns) {
    for (PathNode* at = this; at->parent != nullptr; at = at->parent) {
      at->unseen.Write().state_ns += ns;
    }
  }
  FoldedCalls& Folded(std::uint32_t segment) {
    if (folded == nullptr) folded = std::make_unique<FoldedBySegment>();
    return (*folded)[segment];
  }
};

class CallPaths {
 public:
  // Beyond this number of paths, or this depth, new paths are folded into one
  // child of their parent, so that memory has a bound for any recursion. Their
  // calls are also in PathNode::folded, by segment.
  static constexpr std::size_t kMaxPaths = 65536;
  static constexpr std::uint32_t kMaxPathDepth = 512;
  // Beyond this number of paths with a value, other values are kOtherValue.
  static constexpr std::size_t kMaxValuePaths = kMaxPaths / 2;

  explicit CallPaths(std::size_t thread_events) : events_(thread_events) {}
  CallPaths(const CallPaths&) = delete;
  CallPaths& operator=(const CallPaths&) = delete;

  PathNode* NewRoot();

  // A hook, and the value of its calls: below 2^18.
  static constexpr std::uint32_t KeyOf(std::uint32_t hook_id,
                                       std::uint32_t value) {
    return value << kHookBits | hook_id;
  }

  // The child of `parent` for `key`; created if it is new.
  PathNode* Child(PathNode* parent, std::uint32_t key) {
    if (parent->children.size() <= kLinearChildren) [[likely]] {
      for (const PathNode::Child& child : parent->children) {
        if (child.key == key) return child.node;
      }
    } else if (PathNode* found = FindHashed(parent, key)) {
      return found;
    }
    return AddChild(parent, key);
  }
  // Returns null if this path never occurred, with any value.
  PathNode* FindChild(const PathNode* parent, std::uint32_t hook_id) const;

  // Sets PathNode::certain in the tree of `root`.
  static void KeepCertain(PathNode& root);

  // A range begins: sets all sums to 0. Open calls keep their nodes.
  void ForgetSums();
  // Removes the paths in which nothing happened since then. Call it after
  // IncludeChildren(), when no call is open.
  void DropUnused();

  // Adds each path's wait_ns and blocked_ns to its ancestors. Call it once,
  // after the last record.
  void IncludeChildren();

  std::uint64_t folded_calls() const { return folded_; }
  std::size_t size() const { return nodes_.size(); }

  // Removes the paths of one process but its root, when their rows are made.
  void Release(PathNode& root);

 private:
  static constexpr std::size_t kLinearChildren = 12;
  static constexpr unsigned kHookBits = 14;
  static_assert(logformat::kHookIdMax < 1u << kHookBits);
  PathNode* FindHashed(const PathNode* parent, std::uint32_t key) const;
  PathNode* AddChild(PathNode* parent, std::uint32_t key);
  PathNode* NewNode(PathNode* parent, std::uint32_t key);
  static std::uint64_t Key(const PathNode* parent, std::uint32_t key) {
    return (std::uint64_t{parent->index} << 32) | key;
  }

  std::size_t events_;
  std::uint64_t folded_ = 0;
  std::size_t with_value_ = 0;  // paths
  // By index; null: released.
  std::vector<std::unique_ptr<PathNode>> nodes_;
  absl::flat_hash_map<std::uint64_t, PathNode*>
      wide_;  // children of wide parents
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_CALL_PATHS_H_
