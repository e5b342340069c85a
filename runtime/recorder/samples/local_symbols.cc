#include "runtime/recorder/samples/local_symbols.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "base/code/perf_map.h"
#include "base/posix/regular_file.h"
#include "base/posix/small_file.h"
#include "runtime/recorder/system/pid_namespace.h"

namespace countrace::runtime {
namespace {

// As the process sees it, that has another /tmp and number in a container; if
// it has ended, as the recorder does. `path` is for the user. Returns: as
// OpenRegularFile().
absl::StatusOr<base::ScopedFd> OpenMap(std::int32_t pid, std::string& path) {
  if (const std::int32_t number = OwnNumber(pid, pid); number != 0) {
    path = base::PerfMapPath(number);
    auto fd =
        base::OpenRegularFile(absl::StrFormat("/proc/%d/root%s", pid, path),
                              base::LastLink::kRefused);
    if (fd.ok() || absl::IsFailedPrecondition(fd.status())) return fd;
  }
  path = base::PerfMapPath(pid);
  return base::OpenRegularFile(path, base::LastLink::kRefused);
}

}  // namespace

LocalSymbols ReadKernelSymbols() {
  const auto text = base::ReadSmallFile("/proc/kallsyms");
  if (!text.ok()) return {};
  return LocalSymbols::OfKernel(*text);
}

LocalSymbols ReadJitSymbols(std::int32_t pid, std::optional<std::uint32_t> user,
                            const std::set<std::uint64_t>& addresses,
                            base::NameLimits& limits,
                            std::vector<std::string>& messages) {
  std::string path;
  const auto fd = OpenMap(pid, path);
  if (absl::IsNotFound(fd.status())) return {};
  struct stat status {};
  std::string why;
  if (!fd.ok()) {
    why = std::string(fd.status().message());
  } else if (fstat(fd->get(), &status) != 0) {
    why = std::strerror(errno);
  } else if (!user) {
    why = "the program ended before its user was known";
  } else if (status.st_uid != *user) {
    why = absl::StrFormat("its owner is user %d, and the program is of user %d",
                          status.st_uid, *user);
  } else if (static_cast<std::uint64_t>(status.st_size) >
             base::kLargestPerfMap) {
    why = absl::StrFormat("it has %d bytes, at most %d are read",
                          status.st_size, base::kLargestPerfMap);
  }
  if (!why.empty()) {
    messages.push_back(absl::StrFormat(
        "%s: its names of code made at run time are not taken: %s", path, why));
    return {};
  }
  base::PerfMap map =
      base::ReadPerfMap(base::ReadAtOf(fd->get()), addresses, limits);
  if (!map.status.ok()) {
    messages.push_back(path + ": " + std::string(map.status.message()));
  }
  return std::move(map.symbols);
}

}  // namespace countrace::runtime
