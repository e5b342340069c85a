// Which execution a recording counts: Table 1 of "The POWER2 performance
// monitor" (user and kernel mode x marked and unmarked processes), in words or
// as the monitor's five bits.
//
//   count = all | none | WORD {"," WORD} | five bits
//   WORD  = user | kernel | marked | unmarked
//
// If no word names a mode, both modes are counted; the same holds for marked
// and unmarked. Bits are DIS, DP, DU, DMS, DMR: DIS stops counting always, DP
// in the kernel, DU in user code, DMS in marked processes, DMR in unmarked
// ones. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_RULES_GATING_H_
#define COUNTRACE_LOGFORMAT_RULES_GATING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace countrace::logformat {

struct Gating {
  bool user = true, kernel = true;
  bool marked = true, unmarked = true;

  bool Counts(bool in_user_mode, bool in_marked) const {
    return (in_user_mode ? user : kernel) && (in_marked ? marked : unmarked);
  }
  bool CountsProcess(bool in_marked) const {
    return in_marked ? marked : unmarked;
  }
  bool nothing() const { return !(user || kernel) || !(marked || unmarked); }
  bool every_process() const { return marked && unmarked; }
  bool every_mode() const { return user && kernel; }
  // True if both count the same; all settings that count nothing are equal.
  friend bool operator==(const Gating& a, const Gating& b) {
    if (a.nothing() || b.nothing()) return a.nothing() == b.nothing();
    return a.user == b.user && a.kernel == b.kernel && a.marked == b.marked &&
           a.unmarked == b.unmarked;
  }
};

// The row of Table 1 for the bits DIS (most significant) to DMR.
Gating GatingOfMonitorBits(std::uint32_t bits);

// nullopt: not a setting. Inverse of GatingText() up to ==.
std::optional<Gating> ParseGating(std::string_view text);
// "all", "none", "user,marked", ...: the shortest spelling.
std::string GatingText(const Gating& gating);

// Encoding in `.session`: bit 0 user, 1 kernel, 2 marked, 3 unmarked, 4 that a
// setting was given.
inline constexpr std::uint32_t kGatingGiven = 16;
std::uint32_t GatingBits(const Gating& gating);
Gating GatingOfBits(std::uint32_t bits);

// What an event name's modifier counts: "page-faults:u", "cpu/.../k".
struct EventMode {
  bool user = true, kernel = true;
};
EventMode ModeOfEvent(std::string_view event);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_RULES_GATING_H_
