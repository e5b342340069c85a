#include "rmap/samples/names/name_remedies.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "logformat/sample_points.h"
#include "rmap/result/samples.h"
#include "rmap/samples/names/code_places.h"

namespace countrace::rmap {
namespace {

using Hits = std::map<std::string, std::uint64_t>;

constexpr std::size_t kMostOfABucket = 3;

// Compilers at run time and the switch with which each writes the names of its
// code, as perf's documentation and theirs have it.
std::string JitRemedy(const std::string& comm) {
  constexpr std::pair<std::string_view, std::string_view> kSwitches[] = {
      {"node", "start it as `node --perf-basic-prof`"},
      {"java", "start it as `java -XX:+DumpPerfMapAtExit` (JDK 17)"},
      {"python", "start it as `python3 -X perf` (3.12)"},
      {"dotnet", "set DOTNET_PerfMapEnabled=1 for it"},
      {"ruby", "start it as `ruby --yjit-perf` (3.3)"},
      {"julia", "set ENABLE_JITPROFILING=1 for it"},
      {"beam.smp", "start it as `erl +JPperf true`"},
      {"postgres", "set jit_profiling_support = on"},
      {"chrom", "start it with --js-flags=--perf-basic-prof --no-sandbox"},
      {"qemu", "start it with -perfmap (8.0)"},
  };
  for (const auto& [name, remedy] : kSwitches) {
    if (comm.starts_with(name)) return std::string(remedy);
  }
  return "its compiler can write /tmp/perf-PID.map or jit-PID.dump";
}

// Rows have the last part alone.
std::string PathOf(const Samples& samples, const std::string& dso) {
  for (const CodeFile& file : samples.files) {
    if (file.path.ends_with("/" + dso)) return file.path;
  }
  return dso;
}

std::string FileRemedy(const std::string& path, std::string_view bucket) {
  const bool is_of_package = path.starts_with("/usr/") ||
                             path.starts_with("/lib") ||
                             path.starts_with("/bin/");
  if (is_of_package) {
    return absl::StrFormat(
        "install its debug package (Debian: `find-dbgsym-packages %s`), or set "
        "DEBUGINFOD_URLS=https://debuginfod.elfutils.org",
        base::EscapeName(path));
  }
  return bucket == kNoLines ? "build it with -g"
                            : "build it without -s, and do not strip it";
}

// By the name of the process. One with names writes them already.
Hits JitHits(const Report& report, const std::vector<bool>& chosen) {
  const Samples& samples = *report.samples;
  std::map<ProcessIndex, std::string> comms;
  for (const ProcessRow& row : report.processes) comms[row.index] = row.comm;
  Hits hits;
  std::set<std::string> named;
  for (const SampleSum& sum : samples.sums) {
    if (!chosen.empty() && !chosen[sum.context]) continue;
    const StackFrame& frame = samples.frames[sum.frame];
    if (samples.files[frame.file].path != logformat::kJitCode) continue;
    const auto comm = comms.find(samples.contexts[sum.context].process);
    if (comm == comms.end()) continue;
    if (frame.symbol != 0 || RecordedSymbol(samples, frame) != nullptr) {
      named.insert(comm->second);
    } else {
      hits[comm->second] += sum.hits;
    }
  }
  for (const std::string& comm : named) hits.erase(comm);
  return hits;
}

}  // namespace

std::vector<std::string> NameRemedies(const Report& report,
                                      const std::vector<bool>& chosen,
                                      const std::vector<std::string>& known,
                                      const std::vector<UnnamedCode>& code) {
  std::uint64_t all = 0;
  std::map<std::string, Hits> buckets;
  for (const UnnamedCode& one : code) {
    all += one.hits;
    if (one.bucket == logformat::kJitCode) {
      if (!buckets.contains(one.bucket)) {
        buckets[one.bucket] = JitHits(report, chosen);
      }
    } else if (one.bucket == kStripped || one.bucket == kNoLines) {
      const std::string path = PathOf(*report.samples, one.dso);
      const bool is_known =
          std::any_of(known.begin(), known.end(), [&](const std::string& note) {
            return note.starts_with(base::EscapeName(path));
          });
      if (!is_known) buckets[one.bucket][path] += one.hits;
    }
  }
  std::vector<std::string> notes;
  if (all == 0) return notes;
  for (const auto& [bucket, hits] : buckets) {
    std::vector<std::pair<std::uint64_t, std::string>> most;
    for (const auto& [name, count] : hits) most.emplace_back(count, name);
    std::sort(most.rbegin(), most.rend());
    most.resize(std::min(most.size(), kMostOfABucket));
    for (const auto& [count, name] : most) {
      const double share =
          100.0 * static_cast<double>(count) / static_cast<double>(all);
      if (share < 1) continue;
      notes.push_back(absl::StrFormat("%s of %s (%.0f %% of the samples): %s",
                                      bucket, base::EscapeName(name), share,
                                      bucket == logformat::kJitCode
                                          ? JitRemedy(name)
                                          : FileRemedy(name, bucket)));
    }
  }
  return notes;
}

}  // namespace countrace::rmap
