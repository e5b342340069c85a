// Open calls of one thread: plain state that SegmentBuilder works on.
#ifndef COUNTRACE_RMAP_STATE_SEGMENT_STACK_H_
#define COUNTRACE_RMAP_STATE_SEGMENT_STACK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "rmap/counters/measure_set.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap {

// The clocks of a thread at one time.
struct StackClocks {
  std::uint64_t time_ns = 0, on_cpu_ns = 0, switches = 0, faults = 0;
  std::uint32_t unseen = 0;
};

// One open call: the clocks and counts of its thread at its enter, as if they
// had stood still while the thread was on another stack.
struct Frame {
  // Constructed in place, value by value. A copy would read the values back in
  // wider pieces than they were written in, and the processor's store
  // forwarding would stall.
  Frame(PathNode* its_node, std::uint64_t now_ns, std::uint64_t on_cpu,
        std::uint64_t switch_count, std::uint64_t fault_count,
        std::uint64_t its_dispatch, std::uint32_t epoch,
        std::uint32_t unseen_switches, std::uint32_t hook)
      : node(its_node),
        begin_ns(now_ns),
        on_cpu_ns(on_cpu),
        switches(switch_count),
        faults(fault_count),
        dispatch(its_dispatch),
        loss_epoch(epoch),
        unseen(unseen_switches),
        hook_id(hook) {}

  PathNode* node;
  std::uint64_t begin_ns;
  std::uint64_t away_ns = 0;  // since then, on other stacks
  std::uint64_t on_cpu_ns;    // the thread's on-CPU time so far
  std::uint64_t switches, faults;
  std::uint64_t dispatch;    // serial number of the thread's dispatch
  std::uint32_t loss_epoch;  // KernelCoverage::loss_epoch
  std::uint32_t unseen;      // the thread's unseen switches so far
  std::uint32_t hook_id;
  // The thread's dump at its enter: bits of the values in it (0: no dump), the
  // rotation of its event sets, and its address if dumps stay in memory.
  std::uint32_t present = 0, turn = 0;
  // Calls around it may be missing: it may belong to another path.
  bool doubtful = false;
  // It ended before its end was noticed (DoubtInnermost).
  bool left = false;
  bool began_paused = false;
  const std::uint64_t* counters = nullptr;
};

// A call that ended with one around it, and the clocks of its thread then.
struct LeftCall {
  PathNode* node;
  std::uint64_t end_ns, switches, faults;
};

// An open call whose scope lies in a coroutine's frame. It is over if the frame
// at `depth` began at another time.
struct OpenScope {
  std::uint64_t place;
  std::size_t depth;
  std::uint64_t begin_ns;
};

struct SegmentStack {
  std::vector<Frame> frames;         // outermost first
  std::vector<LeftCall> left_calls;  // whose exits may still come; latest last
  // When the thread went to another stack, and when it came back.
  StackClocks left, back;
  bool elsewhere = false;         // it went on in another thread
  std::vector<OpenScope> scopes;  // outermost first
  // The next exit while there are `exit_at` frames, if not 0, is that of the
  // frame in front of `exit_of`; 0: of none of them.
  std::size_t exit_at = 0, exit_of = 0;
  // Counters at each frame's enter. From the thread's dumps, if records do not
  // stay in memory: one value for each event. From the kernel's dumps (if the
  // trace has kernel hooks): words with bit i = value i is present, then what
  // the thread had counted so far.
  std::vector<std::uint64_t> dumps;
  // Frames [0, doubtful) were open when records of this thread were lost, so
  // their exits may be lost as well.
  std::size_t doubtful = 0;
  // Event set of the thread's last dump, and the number of its rotation, from 0
  // on. Dumps of different rotations cannot be subtracted.
  std::uint32_t mmcr = ~0u, turn = ~0u;
  // Enters beyond the depth limit whose exits have not come yet, and the time
  // of the first of them.
  std::uint64_t too_deep = 0, too_deep_since_ns = 0;
  // Frames [0, doubted) were open when a count became unknown. Bits of the
  // thread's counters, and of the kernel's.
  std::size_t doubted = 0;
  std::uint32_t doubted_thread = 0;
  MeasureSet doubted_kernel;

  // The innermost open call; null: none.
  PathNode* Top() const {
    return frames.empty() ? nullptr : frames.back().node;
  }
  // The innermost open call of a hook; null: there is none.
  const Frame* Find(std::uint32_t hook_id) const {
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (frame->hook_id == hook_id) return &*frame;
    }
    return nullptr;
  }
  // Hook id of the innermost open call; 0: none.
  std::uint32_t TopHook() const {
    return frames.empty() ? 0 : frames.back().hook_id;
  }
  void Doubt(std::uint32_t thread, const MeasureSet& kernel) {
    doubted = frames.size();
    doubted_thread |= thread;
    doubted_kernel |= kernel;
  }
};

// The stacks of one thread (logformat/jump_hook.h). SegmentBuilder.
struct ThreadStacks {
  std::uint64_t current = 0;  // number of the present one; 0: not known
  bool jump_follows = false;  // it says nothing new
  // Others that have open calls.
  std::map<std::uint64_t, SegmentStack> left;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_SEGMENT_STACK_H_
