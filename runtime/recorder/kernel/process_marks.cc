#include "runtime/recorder/kernel/process_marks.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "absl/strings/str_format.h"
#include "base/posix/small_file.h"

namespace countrace::runtime {
namespace {

using logformat::MarkKind;
using logformat::MarkSpec;

absl::StatusOr<std::uint32_t> UserId(const std::string& name) {
  std::uint32_t uid = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, uid);
  if (parsed.ec == std::errc() && parsed.ptr == end) return uid;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return entry.pw_uid;
  return absl::NotFoundError(absl::StrFormat(
      "Mark user:%s: this machine has no user of that name", name));
}

// The first cgroup v2 mount; its root need not be the hierarchy's (containers).
std::optional<std::string> CgroupMount() {
  const auto text = base::ReadSmallFile("/proc/self/mountinfo");
  if (!text.ok()) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find(" - cgroup2 ") == std::string_view::npos) continue;
    // proc(5): id parent major:minor root MOUNT-POINT options ...
    std::string_view fields = line;
    for (int i = 0; i < 4; ++i) {
      fields.remove_prefix(std::min(fields.find(' ') + 1, fields.size()));
    }
    return std::string(fields.substr(0, fields.find(' ')));
  }
  return std::nullopt;
}

absl::StatusOr<MarkedCgroup> FindCgroup(const std::string& path) {
  const std::optional<std::string> mount = CgroupMount();
  if (!mount) {
    return absl::UnimplementedError(absl::StrFormat(
        "Mark cgroup:%s: no cgroup v2 hierarchy is mounted here (mount -t "
        "cgroup2 none /sys/fs/cgroup)",
        path));
  }
  struct stat status {};
  if (stat((*mount + path).c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return absl::NotFoundError(
        absl::StrFormat("Mark cgroup:%s: there is no directory %s%s: %s", path,
                        *mount, path, std::strerror(errno)));
  }
  MarkedCgroup cgroup;
  // The inode is the id on machines of 64 bits.
  cgroup.id = status.st_ino;
  cgroup.path = path;
  return cgroup;
}

std::optional<std::uint32_t> RealUser(std::int32_t pid) {
  const auto text =
      base::ReadSmallFile(absl::StrFormat("/proc/%d/status", pid));
  if (!text.ok()) return std::nullopt;
  const std::size_t at = text->find("\nUid:\t");
  if (at == std::string::npos) return std::nullopt;
  std::uint32_t uid = 0;
  const char* const begin = text->data() + at + std::strlen("\nUid:\t");
  const auto parsed = std::from_chars(begin, text->data() + text->size(), uid);
  if (parsed.ec != std::errc()) return std::nullopt;
  return uid;
}

// Returns its path in the v2 hierarchy: the line "0::/path".
std::optional<std::string> CgroupPath(std::int32_t pid) {
  const auto text =
      base::ReadSmallFile(absl::StrFormat("/proc/%d/cgroup", pid));
  if (!text.ok()) return std::nullopt;
  const std::size_t at = text->starts_with("0::") ? 0 : text->find("\n0::") + 1;
  if (at == 0 && !text->starts_with("0::")) return std::nullopt;
  const std::size_t begin = at + 3;
  return text->substr(begin, text->find('\n', begin) - begin);
}

bool IsBelow(const std::string& path, const std::string& ancestor) {
  if (ancestor == "/" || path == ancestor) return true;
  return path.starts_with(ancestor + "/");
}

}  // namespace

absl::StatusOr<ProcessMarks> ProcessMarks::Resolve(
    const std::vector<MarkSpec>& specs) {
  ProcessMarks marks;
  for (const MarkSpec& spec : specs) {
    switch (spec.kind) {
      case MarkKind::kPid:
        if (!IsProcessAlive(spec.pid)) {
          return absl::NotFoundError(
              absl::StrFormat("There is no process %d to mark", spec.pid));
        }
        marks.pids_.push_back(spec.pid);
        break;
      case MarkKind::kSelf:
        marks.pids_.push_back(getpid());
        break;
      case MarkKind::kComm:
        marks.globs_.push_back(spec.glob);
        break;
      case MarkKind::kUser: {
        const auto uid = UserId(spec.text);
        if (!uid.ok()) return uid.status();
        marks.uids_.push_back(*uid);
        break;
      }
      case MarkKind::kCgroup: {
        auto cgroup = FindCgroup(spec.text);
        if (!cgroup.ok()) return cgroup.status();
        marks.cgroups_.push_back(*std::move(cgroup));
        break;
      }
    }
  }
  return marks;
}

bool ProcessMarks::MatchesComm(const char (&comm)[COUNTRACE_COMM_BYTES]) const {
  return std::any_of(globs_.begin(), globs_.end(),
                     [&comm](const countrace_comm_glob& glob) {
                       return countrace_comm_glob_matches(&glob, comm) != 0;
                     });
}

bool ProcessMarks::MatchesOwner(std::int32_t pid) const {
  if (!uids_.empty()) {
    const std::optional<std::uint32_t> uid = RealUser(pid);
    if (uid && std::find(uids_.begin(), uids_.end(), *uid) != uids_.end()) {
      return true;
    }
  }
  if (cgroups_.empty()) return false;
  const std::optional<std::string> path = CgroupPath(pid);
  return path && std::any_of(cgroups_.begin(), cgroups_.end(),
                             [&path](const MarkedCgroup& cgroup) {
                               return IsBelow(*path, cgroup.path);
                             });
}

bool ProcessMarks::Matches(const ProcessThread& first) const {
  if (std::find(pids_.begin(), pids_.end(), first.pid) != pids_.end()) {
    return true;
  }
  char comm[COUNTRACE_COMM_BYTES] = {};
  std::memcpy(comm, first.comm.data(),
              std::min(first.comm.size(), sizeof(comm) - 1));
  return MatchesComm(comm) || MatchesOwner(first.pid);
}

}  // namespace countrace::runtime
