#include "runtime/recorder/system/process_owner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "runtime/recorder/system/pid_namespace.h"

namespace countrace::runtime {
namespace {

// The number behind "\nNAME:\t" of /proc/PID/status.
template <typename Number>
std::optional<Number> Field(const std::string& status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string::npos) return std::nullopt;
  Number number = 0;
  const auto parsed = std::from_chars(status.data() + at + name.size(),
                                      status.data() + status.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

absl::StatusOr<std::string> Status(std::int32_t pid) {
  return base::ReadSmallFile(absl::StrFormat("/proc/%d/status", pid));
}

}  // namespace

std::optional<std::uint32_t> RealUser(std::int32_t pid) {
  const auto status = Status(pid);
  if (!status.ok()) return std::nullopt;
  return Field<std::uint32_t>(*status, "\nUid:\t");
}

namespace {

// Whether names with commas between have "cpu".
bool HasCpu(const std::string& names) {
  const std::vector<std::string> all = absl::StrSplit(names, ',');
  return std::find(all.begin(), all.end(), "cpu") != all.end();
}

// `v1`: of the hierarchy that has the cpu controller.
std::optional<std::string> FindCgroupMount(bool v1) {
  const auto text = base::ReadSmallFile("/proc/self/mountinfo");
  if (!text.ok()) return std::nullopt;
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  for (const std::string& line : lines) {
    // proc(5): id parent major:minor root MOUNT-POINT ... - TYPE source OPTIONS
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 5) continue;
    const bool found = v1 ? line.find(" - cgroup ") != std::string::npos &&
                                HasCpu(fields.back())
                          : line.find(" - cgroup2 ") != std::string::npos;
    if (found) return fields[4];
  }
  return std::nullopt;
}

const std::optional<std::string>& CpuMount() {
  static const auto& mount = *new auto(FindCgroupMount(/*v1=*/true));
  return mount;
}

// `v1`: the path below CpuMount().
std::optional<std::string> CgroupPathIn(bool v1, std::int32_t pid) {
  const auto text =
      base::ReadSmallFile(absl::StrFormat("/proc/%d/cgroup", pid));
  if (!text.ok()) return std::nullopt;
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  for (const std::string& line : lines) {
    // cgroups(7): NUMBER:CONTROLLERS:PATH; v2 has the number 0.
    const std::vector<std::string> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() == 3 && (v1 ? HasCpu(fields[1]) : fields[0] == "0")) {
      return fields[2];
    }
  }
  return std::nullopt;
}

std::uint64_t IdIn(const std::optional<std::string>& mount,
                   const std::string& path) {
  struct stat status {};
  if (!mount || stat((*mount + path).c_str(), &status) != 0 ||
      !S_ISDIR(status.st_mode)) {
    return 0;
  }
  // The inode is the id on machines of 64 bits.
  return status.st_ino;
}

}  // namespace

const std::optional<std::string>& CgroupMount() {
  static const auto& mount = *new auto(FindCgroupMount(/*v1=*/false));
  return mount;
}

std::optional<std::string> CgroupPath(std::int32_t pid) {
  return CgroupPathIn(/*v1=*/false, pid);
}

std::optional<CgroupPlace> CpuCgroupOf(std::int32_t pid) {
  const bool v1 = CpuMount().has_value();
  const std::optional<std::string>& mount = v1 ? CpuMount() : CgroupMount();
  const auto path = CgroupPathIn(v1, pid);
  if (!mount || !path || !path->starts_with("/")) return std::nullopt;
  return CgroupPlace{*mount, *path};
}

std::uint64_t CgroupId(const std::string& path) {
  return IdIn(CgroupMount(), path);
}

std::optional<logformat::OwnerRecord> OwnerOf(std::int32_t pid) {
  const auto status = Status(pid);
  if (!status.ok()) return std::nullopt;
  logformat::OwnerRecord owner{};
  owner.pid = pid;
  owner.uid =
      Field<std::uint32_t>(*status, "\nUid:\t").value_or(logformat::kNoUser);
  const auto path = CgroupPath(pid);
  if (path) owner.cgroup = CgroupId(*path);
  if (const auto v1 = CgroupPathIn(/*v1=*/true, pid);
      path.value_or("/") == "/" && v1.value_or("/") != "/") {
    const std::uint64_t id = IdIn(CpuMount(), *v1);
    if (id != 0) owner.cgroup = id | logformat::kCgroupOfV1;
  }
  owner.own_pid = OwnNumberIn(*status);
  if (IsHostPidNamespace()) owner.host_pid = pid;
  return owner;
}

std::string CgroupPathOf(std::uint64_t id, std::int32_t pid) {
  const bool v1 = (id & logformat::kCgroupOfV1) != 0;
  const auto& mount = v1 ? CpuMount() : CgroupMount();
  id &= ~logformat::kCgroupOfV1;
  if (!mount) return "";
  const base::ScopedFd root(
      open(mount->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr int kKernfsHandle = 0xfe;  // FILEID_KERNFS
  alignas(file_handle) char bytes[sizeof(file_handle) + sizeof(id)] = {};
  auto* const handle = reinterpret_cast<file_handle*>(bytes);
  handle->handle_bytes = sizeof(id);
  handle->handle_type = kKernfsHandle;
  std::memcpy(bytes + sizeof(file_handle), &id, sizeof(id));
  const base::ScopedFd cgroup(
      root.is_open()
          ? open_by_handle_at(root.get(), handle, O_DIRECTORY | O_CLOEXEC)
          : -1);
  if (cgroup.is_open()) {
    char text[PATH_MAX] = {};
    const auto link = absl::StrFormat("/proc/self/fd/%d", cgroup.get());
    if (readlink(link.c_str(), text, sizeof(text) - 1) <= 0) return "";
    const std::string_view path = text;
    if (path == *mount) return "/";
    if (!path.starts_with(*mount + "/")) return "";
    return std::string(path.substr(mount->size()));
  }
  const auto path = CgroupPathIn(v1, pid);
  return path && IdIn(mount, *path) == id ? *path : "";
}

namespace {

bool IsNamed(std::string_view cgroup, std::string_view prefix) {
  // The monitor of a container has its id, too.
  if (cgroup.find("-conmon-") != std::string_view::npos) return false;
  const std::size_t dash = cgroup.rfind('-');
  return cgroup.starts_with(prefix) ||
         (dash != std::string_view::npos &&
          cgroup.substr(dash + 1).starts_with(prefix));
}

// False if a cgroup vanished meanwhile, which ends the walk.
bool FindNamed(const std::string& mount, const std::string& prefix,
               std::vector<std::string>& found) {
  std::error_code error;
  using Directories = std::filesystem::recursive_directory_iterator;
  constexpr auto kSkip =
      std::filesystem::directory_options::skip_permission_denied;
  for (Directories at(mount, kSkip, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (at->is_directory(gone) &&
        IsNamed(at->path().filename().string(), prefix)) {
      found.push_back(at->path().string().substr(mount.size()));
    }
  }
  return !error;
}

}  // namespace

std::vector<std::string> CgroupsNamed(const std::string& prefix) {
  std::vector<std::string> found;
  const auto& mount = CgroupMount();
  if (!mount) return found;
  for (int i = 0; i < 10; ++i) {
    found.clear();
    if (FindNamed(*mount, prefix, found)) break;
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace countrace::runtime
