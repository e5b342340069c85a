#include "monitor.h"

namespace power2 {
namespace {

constexpr std::uint32_t kDis = IbmBit(0), kDp = IbmBit(1), kDu = IbmBit(2),
                        kDms = IbmBit(3), kDmr = IbmBit(4), kSga = IbmBit(5);
constexpr std::uint32_t kReserved = 0x03ff0000;  // bits 6 to 15

// MMCR[16:19] FPU, [20:23] FXU, [24:27] ICU, [28:31] SCU.
constexpr unsigned ShiftOf(std::size_t unit) {
  return 12 - 4 * static_cast<unsigned>(unit);
}

// Any function, if neighbours differ (splitmix64).
std::uint64_t Scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::optional<Mmcr> Mmcr::Decode(std::uint32_t word) {
  if ((word & kReserved) != 0) return std::nullopt;
  Mmcr mmcr;
  mmcr.dis = (word & kDis) != 0;
  mmcr.dp = (word & kDp) != 0;
  mmcr.du = (word & kDu) != 0;
  mmcr.dms = (word & kDms) != 0;
  mmcr.dmr = (word & kDmr) != 0;
  mmcr.sga = (word & kSga) != 0;
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    mmcr.group[unit] = word >> ShiftOf(unit) & 0xf;
  }
  return mmcr;
}

std::uint32_t Mmcr::Encode() const {
  std::uint32_t word = (dis ? kDis : 0) | (dp ? kDp : 0) | (du ? kDu : 0) |
                       (dms ? kDms : 0) | (dmr ? kDmr : 0) | (sga ? kSga : 0);
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    word |= (group[unit] & 0xf) << ShiftOf(unit);
  }
  return word;
}

bool Mmcr::Counts(std::uint32_t msr) const {
  const bool problem = (msr & kMsrPr) != 0;
  const bool marked = (msr & kMsrPm) != 0;
  if (dis) return false;
  if (dp && !problem) return false;
  if (du && problem) return false;
  if (dms && marked) return false;
  return !(dmr && !marked);
}

Signal Mmcr::SignalOf(std::size_t counter) const {
  const auto number = static_cast<std::uint32_t>(counter);
  if (sga) return {Unit::kScu, kSgaGroup, number};
  const std::size_t unit = counter / kElements;
  return {static_cast<Unit>(unit), group[unit],
          number % static_cast<std::uint32_t>(kElements)};
}

std::uint64_t Work::Occurrences(const Signal& signal) const {
  const std::uint32_t place = (static_cast<std::uint32_t>(signal.unit) << 16) |
                              (signal.group << 8) | signal.element;
  // Frequent and rare signals: one in 1 to 32 cycles at most.
  const std::uint64_t most = cycles >> (Scramble(place) % 6);
  return Scramble((std::uint64_t{seed} << 32) | place) % (most + 1);
}

Access Monitor::WriteMmcr(std::uint32_t word, std::uint32_t msr) {
  if ((msr & kMsrPr) != 0) return Access::kPrivileged;
  const std::optional<Mmcr> mmcr = Mmcr::Decode(word);
  if (!mmcr) return Access::kReservedBits;
  word_ = word;
  mmcr_ = *mmcr;
  return Access::kDone;
}

Access Monitor::WriteCounter(std::size_t counter, std::uint32_t value,
                             std::uint32_t msr) {
  if ((msr & kMsrPr) != 0) return Access::kPrivileged;
  counters_[counter] = value;
  return Access::kDone;
}

Access Monitor::WriteImr(std::uint32_t code, std::uint32_t msr) {
  if ((msr & kMsrPr) != 0) return Access::kPrivileged;
  imr_ = code;
  return Access::kDone;
}

void Monitor::Run(const Work& work, std::uint32_t msr) {
  if (!mmcr_.Counts(msr)) return;
  for (std::size_t i = 0; i < kSelectable; ++i) {
    const Signal signal = mmcr_.SignalOf(i);
    std::uint64_t count = work.Occurrences(signal);
    if (signal == kSpeCycles) count = spe_ ? work.cycles : 0;
    if (signal == kImrMatches) count = work.instructions[imr_ % kCodes];
    counters_[i] += static_cast<std::uint32_t>(count);  // modulo 2^32
  }
  counters_[kCycles] += static_cast<std::uint32_t>(work.cycles);
  counters_[kMemoryErrors] += work.memory_errors;
}

}  // namespace power2
