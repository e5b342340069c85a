#include "runtime/recorder/directory/thread_ids_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/pid_namespace.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/pid_namespace.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {

using logformat::ThreadIdsEntry;

void ThreadIdsFile::Add(std::span<const ThreadIdsEntry> entries) {
  if (entries.empty()) return;
  if (!file_.is_open()) {
    file_ = base::ScopedFd(
        open(path_.c_str(),
             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  if (!file_.is_open()) return;
  // One write: entries of two writers do not mix.
  (void)!write(file_.get(), entries.data(), entries.size_bytes());
}

void ThreadIdsFile::AddProcess(std::int32_t pid) {
  base::ScopedFd space(open(absl::StrFormat("/proc/%d/ns/pid", pid).c_str(),
                            O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!space.is_open() || fstat(space.get(), &info) != 0) return;
  const auto pid_namespace = static_cast<std::uint32_t>(info.st_ino);
  if (pid_namespace == OwnPidNamespace()) return;
  if (!namespaces_.contains(pid_namespace)) {
    if (namespaces_.size() >= kMostNamespaces) return;
    namespaces_[pid_namespace] = std::move(space);
  }
  const std::int32_t own_pid = OwnNumber(pid, pid);
  std::vector<ThreadIdsEntry> entries;
  for (const ProcessThread& thread : ScanThreadsOf(pid)) {
    if (!added_.insert({thread.tid, thread.start_ticks}).second) continue;
    ThreadIdsEntry entry{};
    entry.time_ns = MonotonicNs();
    entry.pid_namespace = pid_namespace;
    entry.own_pid = own_pid;
    entry.own_tid = OwnNumber(pid, thread.tid);
    entry.pid = pid;
    entry.tid = thread.tid;
    if (entry.own_tid != 0) entries.push_back(entry);
  }
  Add(entries);
}

}  // namespace countrace::runtime
