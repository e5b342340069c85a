// Who has a CPU: one state, with one writer, the transitions below.
//
//               Occupy()                            End()
//   not begun -----------> idle | outside | thread -------> ended
//                              |            ^   ^             |
//               Hide(), Lose() |   Reveal() |   +-------------+
//                              v   Occupy() |        Occupy()
//                          hidden | lost ---+
//
//   idle, outside, thread   records name the occupant. After the last one that
//                           does, it may be unconfirmed: UnconfirmedTime
//   hidden                  a record contradicts the occupant
//   lost                    records are missing; also of a CPU that has not
//                           begun, or has ended
//
// From Reveal() to the Occupy() or End() that follows, there is no occupant.
#ifndef COUNTRACE_RMAP_STATE_CPU_OCCUPANCY_H_
#define COUNTRACE_RMAP_STATE_CPU_OCCUPANCY_H_

#include <algorithm>
#include <cstdint>

namespace countrace::rmap {

struct ThreadState;

class CpuOccupancy {
 public:
  enum class Occupant : std::uint8_t { kUnknown, kIdle, kOutside, kThread };

  Occupant occupant() const { return occupant_; }
  bool known() const { return occupant_ != Occupant::kUnknown; }
  bool is_outside() const { return occupant_ == Occupant::kOutside; }
  // Null: no counted thread has it.
  ThreadState* thread() const { return thread_; }
  std::int32_t tid() const { return tid_; }  // of the occupant
  bool begun() const { return phase_ != Phase::kNotBegun; }
  bool ended() const { return phase_ == Phase::kEnded; }
  bool open() const { return phase_ == Phase::kOpen; }
  bool hidden() const { return doubt_ == Doubt::kHidden; }
  bool lost() const { return doubt_ == Doubt::kLost; }
  // Begin of the latest hidden or lost time, and the thread that left then.
  std::uint64_t since_ns() const { return since_ns_; }
  ThreadState* left() const { return left_; }

  // `thread` null: it is idle, or `outside`.
  void Occupy(ThreadState* thread, std::int32_t tid, bool outside) {
    phase_ = Phase::kOpen;
    doubt_ = Doubt::kNone;
    occupant_ = thread != nullptr ? Occupant::kThread
                : outside         ? Occupant::kOutside
                                  : Occupant::kIdle;
    thread_ = thread;
    tid_ = tid;
  }
  void Hide(std::uint64_t since_ns) { Leave(Doubt::kHidden, since_ns); }
  void Lose(std::uint64_t since_ns) { Leave(Doubt::kLost, since_ns); }
  void Reveal() { doubt_ = Doubt::kNone; }
  void End() {
    Leave(Doubt::kNone, since_ns_);
    left_ = nullptr;
    phase_ = Phase::kEnded;
  }
  // Nothing is unknown before `time_ns`.
  void BeginRange(std::uint64_t time_ns) {
    since_ns_ = std::max(since_ns_, time_ns);
  }

 private:
  enum class Phase : std::uint8_t { kNotBegun, kOpen, kEnded };
  enum class Doubt : std::uint8_t { kNone, kHidden, kLost };

  void Leave(Doubt doubt, std::uint64_t since_ns) {
    doubt_ = doubt;
    since_ns_ = since_ns;
    left_ = thread_;
    thread_ = nullptr;
    occupant_ = Occupant::kUnknown;
  }

  Phase phase_ = Phase::kNotBegun;
  Doubt doubt_ = Doubt::kNone;
  Occupant occupant_ = Occupant::kUnknown;
  std::int32_t tid_ = 0;
  std::uint64_t since_ns_ = 0;
  ThreadState* thread_ = nullptr;
  ThreadState* left_ = nullptr;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_CPU_OCCUPANCY_H_
