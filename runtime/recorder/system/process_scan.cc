#include "runtime/recorder/system/process_scan.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>

#include "absl/strings/str_format.h"
#include "base/posix/small_file.h"
#include "base/text/trim.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD
constexpr std::uint64_t kForkedFlag = 0x00000040;        // PF_FORKNOEXEC

std::optional<std::int32_t> ParseId(std::string_view text) {
  std::int32_t id = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, id);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) {
    return std::nullopt;
  }
  return id;
}

void AppendThreads(std::int32_t pid, std::vector<ProcessThread>& threads) {
  const std::string tasks = absl::StrFormat("/proc/%d/task", pid);
  const auto tids = base::ListDirectory(AT_FDCWD, tasks);
  if (!tids.ok()) return;
  for (const std::string& name : *tids) {
    const auto text =
        base::ReadSmallFile(absl::StrFormat("%s/%s/stat", tasks, name));
    if (!text.ok()) continue;
    std::optional<ProcessThread> thread = ParseTaskStat(*text);
    if (!thread) continue;
    thread->pid = pid;
    threads.push_back(*std::move(thread));
  }
}

void SortById(std::vector<ProcessThread>& threads) {
  std::sort(threads.begin(), threads.end(),
            [](const ProcessThread& a, const ProcessThread& b) {
              return a.pid != b.pid ? a.pid < b.pid : a.tid < b.tid;
            });
}

}  // namespace

std::optional<ProcessThread> ParseTaskStat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos ||
      close < open) {
    return std::nullopt;
  }
  const std::optional<std::int32_t> tid =
      ParseId(base::Trim(text.substr(0, open)));
  if (!tid) return std::nullopt;
  ProcessThread thread;
  thread.tid = *tid;
  thread.comm = std::string(text.substr(open + 1, close - open - 1));
  // proc(5), fields from 3 on: state ppid pgrp session tty_nr tpgid flags ...,
  // 22: starttime
  std::string_view rest = base::Trim(text.substr(close + 1));
  for (int field = 3; field <= 22 && !rest.empty(); ++field) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const std::string_view value = rest.substr(0, space);
    if (field == 3) {
      thread.state = value.empty() ? '?' : value[0];
    } else if (field == 4) {
      thread.parent_pid = ParseId(value).value_or(0);
    } else if (field == 22) {
      std::from_chars(value.data(), value.data() + value.size(),
                      thread.start_ticks);
    } else if (field == 9) {
      std::uint64_t flags = 0;
      std::from_chars(value.data(), value.data() + value.size(), flags);
      thread.is_kernel_thread = (flags & kKernelThreadFlag) != 0;
      thread.has_executed = (flags & kForkedFlag) == 0;
    }
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return thread;
}

std::vector<ProcessThread> ScanThreads() {
  std::vector<ProcessThread> threads;
  const auto names = base::ListDirectory(AT_FDCWD, "/proc");
  if (!names.ok()) return threads;
  for (const std::string& name : *names) {
    const std::optional<std::int32_t> pid = ParseId(name);
    if (pid) AppendThreads(*pid, threads);
  }
  SortById(threads);
  return threads;
}

std::vector<ProcessThread> ScanThreadsOf(std::int32_t pid) {
  std::vector<ProcessThread> threads;
  AppendThreads(pid, threads);
  SortById(threads);
  return threads;
}

bool IsProcessAlive(std::int32_t pid) {
  const auto text = base::ReadSmallFile(absl::StrFormat("/proc/%d/stat", pid));
  if (!text.ok()) return false;
  const std::optional<ProcessThread> process = ParseTaskStat(*text);
  return process && process->state != 'Z' && process->state != 'X';
}

}  // namespace countrace::runtime
