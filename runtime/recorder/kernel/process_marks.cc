#include "runtime/recorder/kernel/process_marks.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "absl/strings/str_format.h"
#include "runtime/recorder/system/process_owner.h"

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

bool IsBelow(const std::string& path, const std::string& ancestor) {
  if (ancestor == "/" || path == ancestor) return true;
  return path.starts_with(ancestor + "/");
}

// The path of the only cgroup named so; those below it are part of it.
absl::StatusOr<std::string> FindNamedCgroup(const std::string& id) {
  std::vector<std::string> found = CgroupsNamed(id);
  // An outer one comes before those in it.
  for (std::size_t i = 0; i < found.size(); ++i) {
    found.erase(
        std::remove_if(found.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                       found.end(),
                       [outer = found[i]](const std::string& path) {
                         return IsBelow(path, outer);
                       }),
        found.end());
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return absl::NotFoundError(absl::StrFormat(
        "Mark cgroup:%s: no cgroup has a name that begins so, also not behind "
        "a '-' (docker-ID.scope); a path begins with /",
        id));
  }
  constexpr std::size_t kShown = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i) {
    names += (i == 0 ? "cgroup:" : ", cgroup:") + found[i];
  }
  if (found.size() > kShown) {
    absl::StrAppendFormat(&names, " and %d more", found.size() - kShown);
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "Mark cgroup:%s: %d cgroups have a name that begins so: write one of %s",
      id, found.size(), names));
}

absl::StatusOr<MarkedCgroup> FindCgroup(std::string path) {
  const std::optional<std::string>& mount = CgroupMount();
  if (!mount) {
    return absl::UnimplementedError(absl::StrFormat(
        "Mark cgroup:%s: no cgroup v2 hierarchy is mounted here (mount -t "
        "cgroup2 none /sys/fs/cgroup)",
        path));
  }
  if (!path.starts_with('/')) {
    auto named = FindNamedCgroup(path);
    if (!named.ok()) return named.status();
    path = *std::move(named);
  }
  MarkedCgroup cgroup;
  cgroup.id = CgroupId(path);
  cgroup.path = path;
  if (cgroup.id == 0) {
    return absl::NotFoundError(absl::StrFormat(
        "Mark cgroup:%s: there is no directory %s%s", path, *mount, path));
  }
  return cgroup;
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
