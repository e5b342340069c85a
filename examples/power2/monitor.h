// The POWER2 performance monitor as in the paper (Welbon, Chan-Nui, Shippy,
// Hicks: The POWER2 performance monitor, IBM J. Res. Develop. 38, 1994, figures
// 1 and 2, table 1): 22 counters of 32 bits, the MMCR, the two bits of the MSR
// that it uses, the IMR and the SPE.
//
// Bits are numbered in IBM's way: 0 is the most significant.
#ifndef COUNTRACE_EXAMPLES_POWER2_MONITOR_H_
#define COUNTRACE_EXAMPLES_POWER2_MONITOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace power2 {

constexpr std::uint32_t IbmBit(unsigned bit) { return 0x80000000u >> bit; }

// Machine state register.
inline constexpr std::uint32_t kMsrPr = IbmBit(17);  // problem state
inline constexpr std::uint32_t kMsrPm = IbmBit(29);  // process mark
// A supervisor call keeps the mark, every other interrupt clears it; the
// handler of either runs privileged.
constexpr std::uint32_t MsrAtSvc(std::uint32_t msr) { return msr & ~kMsrPr; }
constexpr std::uint32_t MsrAtInterrupt(std::uint32_t msr) {
  return msr & ~(kMsrPr | kMsrPm);
}

enum class Unit : std::uint8_t { kFpu, kFxu, kIcu, kScu };
inline constexpr std::size_t kUnits = 4, kElements = 5, kGroups = 16;
inline constexpr std::size_t kSelectable = kUnits * kElements;
inline constexpr std::size_t kCycles = kSelectable;  // a CPU cycle
inline constexpr std::size_t kMemoryErrors = kSelectable + 1;
inline constexpr std::size_t kCounters = kSelectable + 2;
static_assert(kCounters == 22);
inline constexpr std::uint64_t kHertz = 66'000'000;

// The signal that a counter counts. With SGA the storage control unit has all
// selectable counters: a group of its own, of 20 elements.
struct Signal {
  Unit unit = Unit::kFpu;
  std::uint32_t group = 0, element = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};
inline constexpr std::uint32_t kSgaGroup = 16;
// The place of the two software events in our fixed-point unit (the paper does
// not say which group has them).
inline constexpr Signal kImrMatches = {Unit::kFxu, 14, 0};
inline constexpr Signal kSpeCycles = {Unit::kFxu, 15, 0};

struct Mmcr {
  bool dis = false, dp = false, du = false, dms = false, dmr = false;
  bool sga = false;
  std::array<std::uint32_t, kUnits> group{};  // by Unit

  // nullopt: one of the reserved bits 6 to 15 is set.
  static std::optional<Mmcr> Decode(std::uint32_t word);
  std::uint32_t Encode() const;
  // True if counters run in that machine state.
  bool Counts(std::uint32_t msr) const;
  // The signal of a selectable counter.
  Signal SignalOf(std::size_t counter) const;
};

// Instruction codes of the match register.
inline constexpr std::size_t kCodes = 4;
inline constexpr std::array<const char*, kCodes> kCodeNames = {"load", "store",
                                                               "branch", "fma"};

// The work of a processor in a while: its cycles, and how often each signal
// came, at most once a cycle.
struct Work {
  std::uint64_t cycles = 0;
  std::uint32_t seed = 0;
  std::uint32_t memory_errors = 0;
  std::array<std::uint64_t, kCodes> instructions{};

  // Requires: a signal of the hardware, not one of the two software events.
  std::uint64_t Occurrences(const Signal& signal) const;
};

enum class Access : std::uint8_t { kDone, kPrivileged, kReservedBits };

class Monitor {
 public:
  // Programmed I/O of a processor in machine state `msr`.
  Access WriteMmcr(std::uint32_t word, std::uint32_t msr);
  Access WriteCounter(std::size_t counter, std::uint32_t value,
                      std::uint32_t msr);
  Access WriteImr(std::uint32_t code, std::uint32_t msr);
  std::uint32_t mmcr() const { return word_; }
  std::uint32_t counter(std::size_t counter) const {
    return counters_.at(counter);
  }
  std::uint32_t imr() const { return imr_; }
  void SetSpe(bool up) { spe_ = up; }
  bool spe() const { return spe_; }

  // The processor works in machine state `msr`.
  void Run(const Work& work, std::uint32_t msr);

 private:
  std::uint32_t word_ = 0;  // at power-up
  Mmcr mmcr_;
  std::array<std::uint32_t, kCounters> counters_{};
  std::uint32_t imr_ = 0;
  bool spe_ = false;
};

}  // namespace power2

#endif  // COUNTRACE_EXAMPLES_POWER2_MONITOR_H_
