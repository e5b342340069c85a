// The numbers of `countrace stat`: what all threads of a report used together.
//
//   Report, SwitchTotals --> StatNumber... --> stat_render.h
//
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_STAT_STAT_NUMBERS_H_
#define COUNTRACE_RMAP_STAT_STAT_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmap/result/bounds.h"
#include "rmap/result/tables.h"
#include "rmap/stat/switch_totals.h"

namespace countrace::rmap {

struct StatNumber {
  std::string name;      // "on-cpu", "page-faults"
  bool is_time = false;  // in ns; else a count
  bool is_part = false;  // of the number before it that is none
  std::uint64_t value = 0;
  // The interval that holds the truth: of an estimate the 95 % interval.
  // Absent: `value` is exact.
  std::optional<Bounds> bounds = std::nullopt;
  Quality quality = Quality::kExact;
  std::optional<double> standard_error = std::nullopt;  // of an estimate
  // The part of the time in which an estimate was counted, 0 to 1.
  std::optional<double> counted_share = std::nullopt;
  std::string note = "";  // of a bounded number: why, and what helps
};

// In this order: on-cpu; run-queue-wait and blocked, where the trace has them;
// voluntary and involuntary switches; migrations; the events of the report.
// Empty without kernel records. `totals`: of the
// same report.
std::vector<StatNumber> StatNumbersOf(const Report& report,
                                      const SwitchTotals& totals);

// Why events of the report have no number, one line for each reason, with the
// names of its events, escaped: a count that does not exist is never a 0.
std::vector<std::string> NotCountedNotes(const Report& report);

// `user` and `system`: `total_ns` in the proportion of two times of the kernel,
// which splits a thread's time by what it sees at its clock ticks, at most 10
// ms apart: estimates, with Wilson's interval for as many samples, widened by
// the limits of `total_ns`.
std::vector<StatNumber> UserAndSystem(
    std::uint64_t user_ns, std::uint64_t system_ns, std::uint64_t total_ns,
    const std::optional<Bounds>& total_limits = std::nullopt);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STAT_STAT_NUMBERS_H_
