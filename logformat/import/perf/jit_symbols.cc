#include "logformat/import/perf/jit_symbols.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/file_version.h"
#include "base/code/perf_map.h"
#include "base/text/name_escape.h"

namespace countrace::importer::perf {

void JitSymbols::Map(const MappingRecord& mapping) {
  if (base::IsJitDumpPath(mapping.path)) paths_[mapping.pid] = mapping.path;
}

std::string JitSymbols::WhyNot(int fd) const {
  struct stat status;
  return fstat(fd, &status) == 0 &&
                 (machine_.recorded_until_ns == 0 ||
                  base::ChangedNs(status) <= machine_.recorded_until_ns)
             ? ""
             : "it was changed after the recording";
}

// Empty: it is the one that was recorded.
std::string JitSymbols::WhyNot(const base::JitDump& dump, int fd,
                               std::uint64_t last_ns) const {
  if (monotonic_ && dump.has_times) {
    // The process may go on, and a later one may have its number.
    if (dump.first_ns <= last_ns) return "";
    return "it is of a later program";
  }
  std::string why = WhyNot(fd);
  if (!why.empty()) {
    why +=
        ", and its times cannot be compared (perf record -k CLOCK_MONOTONIC)";
  }
  return why;
}

void JitSymbols::Say(std::int32_t pid, const std::string& path,
                     const std::string& why) {
  messages_.push_back(
      absl::StrFormat("the names of code that process %d made at run time "
                      "([jit]): %s: %s",
                      pid, base::EscapeName(path), why));
}

base::JitDump JitSymbols::ReadDump(std::int32_t pid,
                                   const std::set<std::uint64_t>& addresses,
                                   std::uint64_t last_ns,
                                   base::NameLimits& limits) {
  const auto path = paths_.find(pid);
  if (path == paths_.end()) return {};
  const base::ScopedFd fd = machine_.jit_file(path->second);
  if (!fd.is_open()) {
    Say(pid, path->second, std::strerror(errno));
    return {};
  }
  base::JitDump dump =
      base::ReadJitDump(base::ReadAtOf(fd.get()), addresses, limits);
  if (const std::string why = WhyNot(dump, fd.get(), last_ns); !why.empty()) {
    Say(pid, path->second, why);
    return {};
  }
  if (!dump.status.ok())
    Say(pid, path->second, std::string(dump.status.message()));
  return dump;
}

base::LocalSymbols JitSymbols::ReadMap(std::int32_t pid,
                                       const std::set<std::uint64_t>& addresses,
                                       base::NameLimits& limits) {
  const std::string path = base::PerfMapPath(pid);
  const base::ScopedFd fd = machine_.jit_file(path);
  if (!fd.is_open()) {
    if (errno != ENOENT) Say(pid, path, std::strerror(errno));
    return {};
  }
  struct stat status;
  std::string why = WhyNot(fd.get());
  if (why.empty() && fstat(fd.get(), &status) == 0 &&
      static_cast<std::uint64_t>(status.st_size) > base::kLargestPerfMap) {
    why = absl::StrFormat("it has %d bytes, at most %d are read",
                          status.st_size, base::kLargestPerfMap);
  }
  if (!why.empty()) {
    Say(pid, path, why);
    return {};
  }
  base::PerfMap map =
      base::ReadPerfMap(base::ReadAtOf(fd.get()), addresses, limits);
  if (!map.status.ok()) Say(pid, path, std::string(map.status.message()));
  return std::move(map.symbols);
}

std::vector<base::JitFunction> JitSymbols::Names(
    std::int32_t pid, const std::set<std::uint64_t>& addresses,
    std::uint64_t last_ns, base::NameLimits& limits) {
  if (machine_.jit_file == nullptr) return {};
  const base::JitDump dump = ReadDump(pid, addresses, last_ns, limits);
  const base::LocalSymbols mapped = ReadMap(pid, addresses, limits);
  bool times_missing = false;
  std::vector<base::JitFunction> names = base::JitFunctionsAt(
      dump, monotonic_ && dump.has_times, mapped, addresses, times_missing);
  if (times_missing) {
    Say(pid, paths_[pid],
        "functions were at the same address one after the other, and all have "
        "the last one's name, as its times and those of the samples are of "
        "other clocks (perf record -k CLOCK_MONOTONIC)");
  }
  return names;
}

}  // namespace countrace::importer::perf
