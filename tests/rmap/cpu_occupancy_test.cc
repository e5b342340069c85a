#include "rmap/state/cpu_occupancy.h"

#include <catch2/catch.hpp>

#include "rmap/state/thread_state.h"

namespace countrace::rmap {
namespace {

using Occupant = CpuOccupancy::Occupant;

TEST_CASE("an occupant is idle, a thread that is counted, or outside") {
  CpuOccupancy cpu;
  ThreadState thread;
  REQUIRE_FALSE(cpu.begun());
  REQUIRE_FALSE(cpu.known());
  cpu.Occupy(nullptr, 0, /*outside=*/false);
  REQUIRE(cpu.open());
  REQUIRE(cpu.occupant() == Occupant::kIdle);
  cpu.Occupy(nullptr, 7, /*outside=*/true);
  REQUIRE(cpu.is_outside());
  REQUIRE(cpu.tid() == 7);
  cpu.Occupy(&thread, 8, /*outside=*/true);
  REQUIRE(cpu.occupant() == Occupant::kThread);
  REQUIRE(cpu.thread() == &thread);
}

TEST_CASE("while a CPU is hidden or lost, it has no occupant, but who left") {
  ThreadState thread;
  for (const bool hidden : {true, false}) {
    CpuOccupancy cpu;
    cpu.Occupy(&thread, 8, /*outside=*/false);
    hidden ? cpu.Hide(100) : cpu.Lose(100);
    REQUIRE(cpu.hidden() == hidden);
    REQUIRE(cpu.lost() != hidden);
    REQUIRE(cpu.open());
    REQUIRE_FALSE(cpu.known());
    REQUIRE(cpu.thread() == nullptr);
    REQUIRE(cpu.left() == &thread);
    cpu.BeginRange(150);
    cpu.Reveal();
    REQUIRE_FALSE((cpu.hidden() || cpu.lost() || cpu.known()));
    REQUIRE(cpu.since_ns() == 150);
  }
}

TEST_CASE("records may be lost of a CPU that has not begun, or has ended") {
  ThreadState thread;
  CpuOccupancy cpu;
  cpu.Lose(100);
  cpu.Reveal();
  REQUIRE_FALSE(cpu.begun());
  cpu.Occupy(&thread, 8, /*outside=*/false);
  cpu.End();
  REQUIRE(cpu.left() == nullptr);
  cpu.Lose(200);
  REQUIRE(cpu.ended());
  cpu.Reveal();
  REQUIRE(cpu.ended());
  cpu.Occupy(nullptr, 0, /*outside=*/false);
  REQUIRE(cpu.open());
}

}  // namespace
}  // namespace countrace::rmap
