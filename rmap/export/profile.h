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
#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "rmap/where/row_owners.h"

namespace countrace::rmap {

// A function at a place of code, and its source there, if that is known.
struct ProfileLine {
  std::string function;
  std::string source = {};
  std::uint32_t line = 0;
};

// What a frame is: of segments a name alone.
struct ProfilePlace {
  // The innermost inlined function first, the one that has the code last.
  std::vector<ProfileLine> lines;
  std::string dso = {}, build_id = {};
  std::uint64_t address = 0;  // in that file
};

struct ProfileLabels {
  // Innermost; empty: none, or not known.
  std::string segment = {}, system_call = {};
  std::string thread = {};  // "NAME/TID", of samples
  bool operator==(const ProfileLabels&) const = default;
  auto operator<=>(const ProfileLabels&) const = default;
};

struct ProfileStack {
  // Of Profile::places, innermost first; the last one is the process's name.
  std::vector<std::uint32_t> places;
  ProfileLabels labels;
  std::int64_t amount = 0;
  std::int64_t times = 0;  // calls of the innermost segment, or samples
};

struct Profile {
  std::string weight;  // "on-cpu", "cpu-clock"
  std::string unit;    // "nanoseconds", "count"
  std::string times;   // "calls", "samples"
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::vector<ProfilePlace> places;
  std::vector<ProfileStack> stacks;
  bool has_other_bytes = false;  // names that are not UTF-8
};

// `weight`: on-cpu, off-cpu, wall, blocked, or an event. on-cpu and counts have
// the rest of each process, outside of segments, as a stack of its name alone.
// Errors: NOT_FOUND the trace has no such weight: the message has those that it
// has; OUT_OF_RANGE the amounts add up to 2^63 or more; INVALID_ARGUMENT
// segments have no `owners.thread`. Requires: report.samples.
absl::StatusOr<Profile> ProfileOf(const Report& report,
                                  const logformat::TraceInfo& info,
                                  const std::string& weight,
                                  const where::OwnerGlobs& owners);

// The names of a stack, the outermost first, inlined functions too.
std::vector<std::string> FrameNames(const Profile& profile,
                                    const ProfileStack& stack);

// A line for each stack of names: "FRAME;FRAME AMOUNT".
std::string FoldedText(const Profile& profile);
// For callgrind_annotate and kcachegrind.
std::string CallgrindText(const Profile& profile);
// The message Profile of github.com/google/pprof, not compressed.
std::string PprofBytes(const Profile& profile);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_PROFILE_H_
