#include "logformat/import/perf/jit_symbols.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/code/file_version.h"
#include "base/text/name_escape.h"

namespace countrace::importer::perf {

void JitSymbols::Map(const MappingRecord& mapping) {
  if (base::IsJitDumpPath(mapping.path)) paths_[mapping.pid] = mapping.path;
}

// Empty: it is the one that was recorded.
std::string JitSymbols::WhyNot(const base::JitDump& dump, int fd,
                               std::uint64_t last_ns) const {
  if (monotonic_ && dump.has_times) {
    // The process may go on, and a later one may have its number.
    if (dump.first_ns <= last_ns) return "";
    return "it is of a later program";
  }
  struct stat status;
  if (fstat(fd, &status) == 0 &&
      (machine_.recorded_until_ns == 0 ||
       base::ChangedNs(status) <= machine_.recorded_until_ns)) {
    return "";
  }
  return "it was changed after the recording, and its times cannot be compared "
         "(perf record -k CLOCK_MONOTONIC)";
}

std::vector<base::JitFunction> JitSymbols::Names(
    std::int32_t pid, const std::set<std::uint64_t>& addresses,
    std::uint64_t last_ns, base::NameLimits& limits) {
  const auto path = paths_.find(pid);
  if (path == paths_.end() || machine_.jit_dump == nullptr) return {};
  const auto say = [&](std::string_view why) {
    messages_.push_back(
        absl::StrFormat("the names of code that process %d made at run time "
                        "([jit]): %s: %s",
                        pid, base::EscapeName(path->second), why));
  };
  const base::ScopedFd fd = machine_.jit_dump(path->second);
  if (!fd.is_open()) {
    say(std::strerror(errno));
    return {};
  }
  const base::JitDump dump =
      base::ReadJitDump(base::ReadAtOf(fd.get()), addresses, limits);
  if (const std::string why = WhyNot(dump, fd.get(), last_ns); !why.empty()) {
    say(why);
    return {};
  }
  if (!dump.status.ok()) say(std::string(dump.status.message()));
  bool times_missing = false;
  std::vector<base::JitFunction> names = base::JitFunctionsAt(
      dump, monotonic_ && dump.has_times, {}, addresses, times_missing);
  if (times_missing) {
    say("functions were at the same address one after the other, and all have "
        "the last one's name, as its times and those of the samples are of "
        "other clocks (perf record -k CLOCK_MONOTONIC)");
  }
  return names;
}

}  // namespace countrace::importer::perf
