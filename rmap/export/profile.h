// A trace as a profile: amounts by stack, for flame graphs and their like.
//
//   Report --ProfileOf(weight)--> Profile --> folded, callgrind, pprof
//
// Stacks are of segments (the amounts are exclusive, so they add up), or of
// samples, if the weight is a sampled event. Thread: any (plain values).
#ifndef COUNTRACE_RMAP_EXPORT_PROFILE_H_
#define COUNTRACE_RMAP_EXPORT_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

struct ProfileStack {
  std::vector<std::string> frames;  // outermost first: the process's name
  std::int64_t amount = 0;
  std::int64_t times = 0;  // calls of the innermost segment, or samples
};

struct Profile {
  std::string weight;  // "on-cpu", "cpu-clock"
  std::string unit;    // "nanoseconds", "count"
  std::string times;   // "calls", "samples"
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::vector<ProfileStack> stacks;
};

// `weight`: on-cpu, off-cpu, wall, blocked, or an event. on-cpu and counts have
// the rest of each process, outside of segments, as a stack of its name alone.
// Errors: NOT_FOUND the trace has no such weight: the message has those that it
// has; OUT_OF_RANGE an amount of 2^63 or more. Requires: report.samples.
absl::StatusOr<Profile> ProfileOf(const Report& report,
                                  const std::string& weight);

// A line for each stack: "FRAME;FRAME AMOUNT".
std::string FoldedText(const Profile& profile);
// For callgrind_annotate and kcachegrind.
std::string CallgrindText(const Profile& profile);
// The message Profile of github.com/google/pprof, not compressed.
std::string PprofBytes(const Profile& profile);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_PROFILE_H_
