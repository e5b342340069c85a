#include "runtime/recorder/control/session_invitation.h"

#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/control/control_file.h"
#include "runtime/recorder/control/unjoined_program.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kAnswerNs = 2'000'000'000;
// Parents cannot form a loop, but /proc changes while it is read.
constexpr int kMaxAncestors = 1000;

std::vector<std::int32_t> RunningProcesses() {
  std::vector<std::int32_t> pids;
  for (const ProcessThread& thread : ScanThreads()) {
    if (thread.tid == thread.pid && !thread.is_kernel_thread &&
        thread.pid != getpid()) {
      pids.push_back(thread.pid);
    }
  }
  return pids;
}

}  // namespace

SessionInvitation::SessionInvitation(std::string trace,
                                     const logformat::SessionControl& session,
                                     std::vector<std::int32_t> pids)
    : trace_(std::move(trace)),
      users_(trace_, session),
      ids_(trace_),
      pids_(std::move(pids)),
      watch_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  // Before the scan: a process that starts during it is found by one of the
  // two.
  for (const char* folder : kControlFolders) {
    if (watch_.is_open()) {
      inotify_add_watch(watch_.get(), folder, IN_MOVED_TO | IN_ONLYDIR);
    }
  }
}

bool SessionInvitation::AnyProcess(const std::vector<std::int32_t>& pids) {
  const std::vector<std::int32_t> all =
      pids.empty() ? RunningProcesses() : pids;
  return std::any_of(all.begin(), all.end(), [](std::int32_t pid) {
    return ProcessControl::Open(pid).ok();
  });
}

// Without the runtime in it. A file of another user is not parsed.
bool SessionInvitation::ProgramHasHooks(std::int32_t pid) {
  const std::string process = absl::StrFormat("/proc/%d", pid);
  const std::string file = process + "/exe";
  struct stat owner {
  }, program{};
  if (stat(process.c_str(), &owner) != 0 || owner.st_uid != geteuid() ||
      stat(file.c_str(), &program) != 0) {
    return false;
  }
  const auto [at, added] =
      programs_.try_emplace({program.st_dev, program.st_ino}, false);
  if (added) at->second = HasHooks(file);
  return at->second;
}

void SessionInvitation::Refuse(std::int32_t pid, const absl::Status& status,
                               bool has_hooks) {
  if (!IsProcessAlive(pid)) return;
  known_.insert(pid);
  // Beside another recording of the whole machine, these are all processes.
  if (pids_.empty() && status.GetPayload(kOtherRecordingPayload).has_value()) {
    if (elsewhere_++ == 0) first_elsewhere_ = base::StatusText(status);
    return;
  }
  if (refused_.size() >= kMostNamed) {
    if (has_hooks) ++refused_more_;
    return;
  }
  refused_.push_back(
      {absl::StrFormat("No user hooks of: %s", base::StatusText(status)),
       has_hooks});
}

void SessionInvitation::Ask(std::int32_t pid, bool named) {
  // A process can hold its own lock for ever, and the kernel's rings would fill
  // meanwhile: without its name on the command line it is tried again later.
  auto control = ProcessControl::Open(pid, named ? kAnswerNs : 0);
  if (absl::IsUnavailable(control.status()) && !named) {
    const std::uint64_t until =
        locked_.try_emplace(pid, MonotonicNs() + kAnswerNs).first->second;
    if (MonotonicNs() < until) return;
  }
  locked_.erase(pid);
  if (!control.ok()) {
    // With -a, only processes with hooks are named: the others lose nothing.
    const bool no_hooks =
        control.status().GetPayload(kNoRuntimePayload).has_value() ||
        absl::IsPermissionDenied(control.status());
    const bool has_hooks = !no_hooks || ProgramHasHooks(pid);
    if (named || has_hooks) Refuse(pid, control.status(), has_hooks);
    return;
  }
  auto directory = users_.DirectoryFor(pid);
  if (!directory.ok()) return Refuse(pid, directory.status(), true);
  ids_.AddProcess(pid);
  const absl::Status asked = control->RequestJoin(*directory);
  if (!asked.ok()) return Refuse(pid, asked, true);
  asked_.push_back(
      {*std::move(control), *std::move(directory), MonotonicNs() + kAnswerNs});
}

void SessionInvitation::TakeAnswers(bool wait) {
  std::vector<Asked> open;
  for (Asked& asked : asked_) {
    const std::uint64_t now = MonotonicNs();
    const absl::Status joined = asked.control.AwaitJoin(
        asked.directory, wait ? asked.deadline_ns : now);
    if (joined.ok()) {
      if (asked.directory != trace_) ++others_joined_;
      continue;
    }
    if (absl::IsUnavailable(joined) && !wait && now < asked.deadline_ns &&
        IsProcessAlive(asked.control.pid())) {
      open.push_back(std::move(asked));
      continue;
    }
    Refuse(asked.control.pid(), joined, /*has_hooks=*/true);
  }
  asked_ = std::move(open);
}

void SessionInvitation::InviteRunning() {
  for (const std::int32_t pid : pids_.empty() ? RunningProcesses() : pids_) {
    Ask(pid, /*named=*/!pids_.empty());
    asked_early_.insert(pid);
  }
  TakeAnswers(/*wait=*/true);
}

bool SessionInvitation::IsInScope(std::int32_t pid) const {
  if (pids_.empty()) return true;
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i) {
    if (std::find(pids_.begin(), pids_.end(), pid) != pids_.end()) return true;
    const std::vector<ProcessThread> threads = ScanThreadsOf(pid);
    if (threads.empty()) return false;
    pid = threads.front().parent_pid;
  }
  return false;
}

void SessionInvitation::InviteNew() {
  alignas(inotify_event) char buffer[64 * (sizeof(inotify_event) + NAME_MAX)];
  std::set<std::int32_t> fresh;
  ssize_t got = 0;
  while (watch_.is_open() &&
         (got = read(watch_.get(), buffer, sizeof(buffer))) > 0) {
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      at += static_cast<ssize_t>(sizeof(*event) + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        for (const std::int32_t pid : RunningProcesses()) fresh.insert(pid);
      }
      if (event->len == 0) continue;
      if (const auto pid = ControlFilePid(event->name)) {
        fresh.insert(*pid);
        known_.insert(*pid);
      }
    }
  }
  for (const auto& [pid, until] : locked_) fresh.insert(pid);
  for (const std::int32_t pid : fresh) {
    if (IsInScope(pid)) Ask(pid, /*named=*/false);
  }
  TakeAnswers(/*wait=*/false);
}

void SessionInvitation::GiveUp() {
  for (const auto& [pid, until] : std::exchange(locked_, {})) {
    Refuse(pid,
           absl::UnavailableError(absl::StrFormat(
               "process %d, whose control page another process locks", pid)),
           /*has_hooks=*/true);
  }
  if (!pids_.empty()) return;
  for (const std::int32_t pid : RunningProcesses()) {
    if (asked_early_.contains(pid)) continue;
    const auto control = ProcessControl::Open(pid, 0);
    if (control.status().GetPayload(kNoRuntimePayload).has_value() &&
        ProgramHasHooks(pid)) {
      Refuse(pid, control.status(), /*has_hooks=*/true);
    }
  }
}

std::string SessionInvitation::ElsewhereMessage() const {
  if (elsewhere_ == 1) return "No user hooks of: " + first_elsewhere_;
  return absl::StrFormat(
      "No user hooks of %d processes that take part in other recordings; the "
      "first: %s",
      elsewhere_, first_elsewhere_);
}

std::string SessionInvitation::MoreMessage() const {
  return absl::StrFormat("No user hooks of %d more processes", refused_more_);
}

std::vector<logformat::NotRecorded> SessionInvitation::NotJoined() const {
  std::vector<logformat::NotRecorded> all;
  for (const Refused& refused : refused_) {
    if (refused.has_hooks) {
      all.push_back({logformat::kNotJoined, 1, refused.message});
    }
  }
  if (elsewhere_ != 0) {
    all.push_back({logformat::kNotJoined, elsewhere_, ElsewhereMessage()});
  }
  if (refused_more_ != 0) {
    all.push_back({logformat::kNotJoined, refused_more_, MoreMessage()});
  }
  return all;
}

std::vector<std::string> SessionInvitation::TakeMessages() {
  std::vector<std::string> messages;
  for (Refused& refused : refused_) {
    messages.push_back(std::move(refused.message));
  }
  if (elsewhere_ != 0) messages.push_back(ElsewhereMessage());
  if (refused_more_ != 0) messages.push_back(MoreMessage());
  refused_.clear();
  elsewhere_ = refused_more_ = 0;
  return messages;
}

}  // namespace countrace::runtime
