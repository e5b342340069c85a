#include "runtime/recorder/session/started_programs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/control/unjoined_program.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/pid_namespace.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

namespace fs = std::filesystem;

// No recording that the message is meant for has more.
constexpr std::size_t kMaxFiles = 4096;
constexpr std::size_t kMaxStarts = 65536;

// The file at `path` if it is the one that was executed, one that we may parse,
// and has hooks; else "". Anyone can choose the path: a device there is not
// opened.
std::string FileIfWithHooks(const std::string& path, std::uint64_t inode) {
  const base::ScopedFd file(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!file.is_open() || fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) || info.st_ino != inode ||
      (info.st_uid != 0 && info.st_uid != geteuid())) {
    return "";
  }
  const std::string link = absl::StrFormat("/proc/self/fd/%d", file.get());
  std::error_code error;
  return HasHooks(link) ? fs::read_symlink(link, error).string() : "";
}

}  // namespace

const std::string& StartedPrograms::FileWithHooks(const ProgramStart& start) {
  static const std::string kNone;
  const auto known = files_.find({start.inode, start.path});
  if (known != files_.end()) return known->second;
  if (files_.size() >= kMaxFiles) return kNone;
  std::string& file = files_[{start.inode, start.path}];
  // Where the process has ended, as its parent sees the path, or we do.
  const bool absolute = start.path.starts_with('/');
  for (const std::string& path :
       {absl::StrFormat("/proc/%d/exe", start.pid),
        absl::StrFormat("/proc/%d/%s/%s", start.parent_pid,
                        absolute ? "root" : "cwd", start.path),
        start.path}) {
    file = FileIfWithHooks(path, start.inode);
    if (!file.empty()) break;
  }
  return file;
}

void StartedPrograms::Add(std::vector<ProgramStart> starts) {
  for (ProgramStart& start : starts) {
    const std::string& file = FileWithHooks(start);
    if (!file.empty() && with_hooks_.size() < kMaxStarts) {
      with_hooks_.emplace_back(std::move(start), &file);
    }
  }
}

std::vector<std::int32_t> StartedPrograms::AddRunning(std::int32_t root) {
  std::vector<std::int32_t> pids = {root};
  std::vector<ProgramStart> starts;
  // Children are appended while it is read.
  for (std::size_t i = 0; i < pids.size() && running_.size() < kMaxStarts;
       ++i) {
    const std::int32_t pid = pids[i];
    // Until its exec, a child of posix_spawn() has its parent's file. Read
    // before the file: one that has executed has its own.
    const std::vector<ProcessThread> threads = ScanThreadsOf(pid);
    const bool has_executed = std::any_of(
        threads.begin(), threads.end(), [pid](const ProcessThread& thread) {
          return thread.tid == pid && thread.has_executed;
        });
    ProgramStart start;
    start.time_ns = MonotonicNs();
    start.pid = pid;
    const std::string link = absl::StrFormat("/proc/%d/exe", pid);
    std::error_code error;
    start.path = fs::read_symlink(link, error).string();
    struct stat info {};
    if (error || stat(link.c_str(), &info) != 0) continue;
    start.inode = info.st_ino;
    if (has_executed && running_.insert({pid, start.inode}).second) {
      start.own_pid = OwnNumber(pid, pid);
      start.pid_namespace = PidNamespaceOf(pid);
      starts.push_back(start);
    }
    for (const ProcessThread& thread : threads) {
      std::ifstream children(
          absl::StrFormat("/proc/%d/task/%d/children", pid, thread.tid));
      std::int32_t child = 0;
      while (children >> child) pids.push_back(child);
    }
  }
  Add(std::move(starts));
  return pids;
}

std::map<std::string, std::uint64_t> StartedPrograms::NotJoined(
    const std::function<bool(const ProgramStart&)>& joined) const {
  std::map<std::string, std::uint64_t> processes;
  for (const auto& [start, file] : with_hooks_) {
    if (!joined(start)) ++processes[*file];
  }
  return processes;
}

}  // namespace countrace::runtime
