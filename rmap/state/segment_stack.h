// Open calls of one thread: plain state, worked on by SegmentBuilder.
#ifndef COUNTRACE_RMAP_STATE_SEGMENT_STACK_H_
#define COUNTRACE_RMAP_STATE_SEGMENT_STACK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rmap/state/call_paths.h"

namespace countrace::rmap {

// One open call: what the clocks and counts of its thread were at its enter.
struct Frame {
  // Written where it stays, value by value: copied there, it would be read back
  // in other pieces than it was written in, for which the processor waits.
  Frame(PathNode* its_node, std::uint64_t now_ns, std::uint64_t on_cpu,
        std::uint64_t switch_count, std::uint64_t fault_count,
        std::uint64_t its_stay, std::uint32_t epoch,
        std::uint32_t unseen_switches, std::uint32_t hook)
      : node(its_node),
        begin_ns(now_ns),
        on_cpu_ns(on_cpu),
        switches(switch_count),
        faults(fault_count),
        stay(its_stay),
        loss_epoch(epoch),
        unseen(unseen_switches),
        hook_id(hook) {}

  PathNode* node;
  std::uint64_t begin_ns;
  std::uint64_t on_cpu_ns;  // the thread's on-CPU time so far
  std::uint64_t switches, faults;
  std::uint64_t stay;        // the thread's dispatch, by serial number
  std::uint32_t loss_epoch;  // KernelCoverage::loss_epoch
  std::uint32_t unseen;      // the thread's unseen switches so far
  std::uint32_t hook_id;
  // The thread's dump at its enter: which values are there (0: none), of which
  // turn of its event sets, and where they are if they stay there.
  std::uint32_t present = 0, turn = 0;
  const std::uint64_t* counters = nullptr;
};

struct SegmentStack {
  std::vector<Frame> frames;  // outermost first
  // Counters at each frame's enter. Of the thread, if records do not stay: one
  // value for each event. Of the kernel's dumps (if the trace has kernel
  // hooks): bit i = value i is there, then what the thread had counted so far.
  std::vector<std::uint64_t> dumps;
  // Frames [0, doubtful) were open when records of this thread were lost, so
  // their exits may be lost as well.
  std::size_t doubtful = 0;
  // Event set of the thread's last dump, and how often it has changed: what
  // two dumps of different turns say cannot be subtracted.
  std::uint32_t mmcr = 0, turn = 0;
  // Enters beyond the depth limit that wait for their exits.
  std::uint64_t too_deep = 0;
  // Frames [0, doubted) were open when it became unknown how much was counted:
  // bits of the thread's counters, and of the kernel's.
  std::size_t doubted = 0;
  std::uint32_t doubted_thread = 0, doubted_kernel = 0;

  // The innermost; null: no call is open.
  PathNode* Top() const {
    return frames.empty() ? nullptr : frames.back().node;
  }
  // Of the innermost call; 0: none.
  std::uint32_t TopHook() const {
    return frames.empty() ? 0 : frames.back().hook_id;
  }
  void Doubt(std::uint32_t thread, std::uint32_t kernel) {
    doubted = frames.size();
    doubted_thread |= thread;
    doubted_kernel |= kernel;
  }
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_SEGMENT_STACK_H_
