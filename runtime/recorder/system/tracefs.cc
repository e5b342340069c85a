#include "runtime/recorder/system/tracefs.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/small_file.h"
#include "base/text/glob.h"
#include "base/text/trim.h"
#include "runtime/recorder/system/file_rights.h"

namespace countrace::runtime {
namespace {

// A file that every kernel with tracepoints has.
constexpr char kWitness[] = "events/sched/sched_switch/id";

// Returns a descriptor of the root of a detached mount, or -1 and errno.
int OpenDetached() {
  const base::ScopedFd context(fsopen("tracefs", FSOPEN_CLOEXEC));
  if (!context.is_open()) return -1;
  if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return -1;
  }
  return fsmount(context.get(), FSMOUNT_CLOEXEC, 0);
}

// A user's names of tracepoints are in `path`, and tracefs has no links: only
// ".." leads out.
absl::Status CheckInside(const std::string& path) {
  if (("/" + path + "/").find("/../") == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(path + " is no file of tracefs");
}

}  // namespace

absl::StatusOr<Tracefs> Tracefs::Open() {
  const KernelFileScope scope;
  std::string tried;
  int error = ENOENT;
  for (const char* path :
       {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    base::ScopedFd root(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (root.is_open() &&
        faccessat(root.get(), kWitness, R_OK, AT_EACCESS) == 0) {
      return Tracefs(std::move(root), path);
    }
    if (errno != ENOENT) error = errno;
    tried += absl::StrFormat("%s: %s; ", path, std::strerror(errno));
  }
  base::ScopedFd root(OpenDetached());
  if (root.is_open()) {
    if (faccessat(root.get(), kWitness, R_OK, AT_EACCESS) == 0) {
      return Tracefs(std::move(root), "detached mount");
    }
  }
  if (error == ENOENT) error = errno;
  tried += absl::StrFormat("fsmount: %s", std::strerror(errno));
  const bool refused = error == EACCES || error == EPERM;
  return base::ErrnoStatus(
      error,
      absl::StrFormat(
          "Cannot read tracefs%s (%s)",
          refused ? ", which is for root and CAP_DAC_READ_SEARCH" : "", tried));
}

absl::StatusOr<std::string> Tracefs::Read(const std::string& path) const {
  const absl::Status inside = CheckInside(path);
  if (!inside.ok()) return inside;
  const KernelFileScope scope;
  return base::ReadSmallFile(root_.get(), path);
}

absl::StatusOr<std::vector<std::string>> Tracefs::List(
    const std::string& path) const {
  const absl::Status inside = CheckInside(path);
  if (!inside.ok()) return inside;
  const KernelFileScope scope;
  return base::ListDirectory(root_.get(), path);
}

absl::StatusOr<std::uint64_t> Tracefs::TracepointId(
    const std::string& system, const std::string& event) const {
  const std::string path = absl::StrFormat("events/%s/%s/id", system, event);
  const absl::StatusOr<std::string> text = Read(path);
  if (!text.ok()) return text.status();
  std::uint64_t id = 0;
  const auto parsed =
      std::from_chars(text->data(), text->data() + text->size(), id);
  if (parsed.ec != std::errc()) {
    return absl::UnavailableError(
        absl::StrFormat("Cannot parse %s: \"%s\"", path, base::Trim(*text)));
  }
  return id;
}

absl::StatusOr<std::vector<std::string>> ListTracepoints(
    const std::string& glob) {
  const auto tracefs = Tracefs::Open();
  if (!tracefs.ok()) return tracefs.status();
  const auto systems = tracefs->List("events");
  if (!systems.ok()) return systems.status();
  std::vector<std::string> names;
  for (const std::string& system : *systems) {
    const auto events = tracefs->List("events/" + system);
    if (!events.ok()) continue;  // a file
    for (const std::string& event : *events) {
      const std::string name = system + ":" + event;
      if (base::GlobMatches(glob.c_str(), name.c_str()) &&
          tracefs->TracepointId(system, event).ok()) {
        names.push_back(name);
      }
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace countrace::runtime
