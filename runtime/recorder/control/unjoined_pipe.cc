#include "runtime/recorder/control/unjoined_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "logformat/session_layout.h"
#include "runtime/unjoined_place.h"

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

std::string MessageOfOtherUser(const std::string& program,
                               const std::string& trace) {
  const std::string name = base::EscapeName(program);
  return absl::StrFormat(
      "%s has hooks but did not join: it ran as another user, for whom %s is "
      "private. Record as that user, or everything with -a, or its probes: "
      "--hook 'usdt:%s:*'",
      name, trace, name);
}

base::ScopedFd OpenToRead(const std::string& path) {
  // For writing, too: a pipe without writers is always readable.
  return base::ScopedFd(
      open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

// A pipe of the usual 64 KiB. More come from a program that writes on while
// they are read.
constexpr int kMaxReports = 128;

// Adds the number of reports, by program and errno.
void Count(int fd,
           std::map<std::pair<std::string, int>, std::uint64_t>& programs) {
  logformat::UnjoinedProgram report;
  for (int i = 0; i < kMaxReports; ++i) {
    if (read(fd, &report, sizeof(report)) != sizeof(report)) return;
    const std::size_t length = strnlen(report.path, sizeof(report.path));
    ++programs[{std::string(report.path, length),
                static_cast<int>(report.error)}];
  }
}

}  // namespace

UnjoinedPipe::UnjoinedPipe(std::string directory, bool invites)
    : directory_(std::move(directory)) {
  const std::string path = PathIn(directory_);
  if (mkfifo(path.c_str(), 0600) != 0) return;
  fd_ = OpenToRead(path);
  if (invites || geteuid() != 0) return;
  char place[kUnjoinedPlaceBytes];
  UnjoinedPlace(directory_.c_str(), place);
  // One of a recorder that was killed; the folder lets no one else remove it.
  struct stat info {};
  if (lstat(place, &info) == 0 && info.st_uid == 0) unlink(place);
  if (mkfifo(place, 0600) != 0) return;
  place_ = place;
  place_fd_ = OpenToRead(place_);
  // Whatever the umask is.
  if (place_fd_.is_open()) fchmod(place_fd_.get(), 0622);
}

UnjoinedPipe::~UnjoinedPipe() {
  if (fd_.is_open()) unlink(PathIn(directory_).c_str());
  if (!place_.empty()) unlink(place_.c_str());
}

std::vector<UnjoinedPipe::Report> UnjoinedPipe::Take() {
  std::map<std::pair<std::string, int>, std::uint64_t> programs, of_others;
  if (fd_.is_open()) Count(fd_.get(), programs);
  if (place_fd_.is_open()) Count(place_fd_.get(), of_others);
  std::vector<Report> all;
  for (const auto& [program, count] : programs) {
    all.push_back({program.first,
                   {logformat::kNotJoined, count,
                    MessageOf(program.first, program.second, directory_)}});
  }
  for (const auto& [program, count] : of_others) {
    all.push_back({program.first,
                   {logformat::kNotJoined, count,
                    MessageOfOtherUser(program.first, directory_)}});
  }
  return all;
}

}  // namespace countrace::runtime
