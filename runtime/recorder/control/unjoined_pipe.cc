#include "runtime/recorder/control/unjoined_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {
namespace {

std::string PathIn(const std::string& directory) {
  return directory + "/" + logformat::kUnjoinedPipe;
}

std::string MessageOf(const std::string& program, int error,
                      const std::string& trace) {
  if (error == EROFS) {
    return absl::StrFormat(
        "%s has hooks but did not join: its sandbox shows %s read-only. Let it "
        "write there: for bwrap, --bind %s %s behind --ro-bind",
        program, trace, trace, trace);
  }
  return absl::StrFormat(
      "%s has hooks but did not join: it may not write to %s (%s)", program,
      trace, std::strerror(error));
}

}  // namespace

UnjoinedPipe::UnjoinedPipe(std::string directory)
    : directory_(std::move(directory)) {
  const std::string path = PathIn(directory_);
  if (mkfifo(path.c_str(), 0600) != 0) return;
  // For writing, too: a pipe without writers is always readable.
  fd_ = base::ScopedFd(
      open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

UnjoinedPipe::~UnjoinedPipe() {
  if (fd_.is_open()) unlink(PathIn(directory_).c_str());
}

std::vector<logformat::NotRecorded> UnjoinedPipe::Take() {
  std::map<std::pair<std::string, int>, std::uint64_t> programs;
  logformat::UnjoinedProgram report;
  while (fd_.is_open() &&
         read(fd_.get(), &report, sizeof(report)) == sizeof(report)) {
    const std::size_t length = strnlen(report.path, sizeof(report.path));
    ++programs[{std::string(report.path, length),
                static_cast<int>(report.error)}];
  }
  std::vector<logformat::NotRecorded> all;
  for (const auto& [program, count] : programs) {
    all.push_back({logformat::kNotJoined, count,
                   MessageOf(program.first, program.second, directory_)});
  }
  return all;
}

}  // namespace countrace::runtime
