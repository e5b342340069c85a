#include "runtime/recorder/control/process_control.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/posix/errno_status.h"
#include "base/posix/small_file.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/control/control_file.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/pid_namespace.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kAnswerNs = 2'000'000'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
// Some million hooks. A process may answer without end.
constexpr std::uint32_t kMostListPages = 8192;
constexpr char kRestart[] =
    "start it again with the runtime library in it: link countrace::runtime, "
    "or use `countrace record -- COMMAND`";

absl::Status NoRuntime(const std::string& message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kNoRuntimePayload, absl::Cord());
  return status;
}

std::string NameOf(std::int32_t pid) {
  const std::vector<ProcessThread> threads = ScanThreadsOf(pid);
  return absl::StrFormat("process %d (%s)", pid,
                         threads.empty() ? "?" : threads.front().comm);
}

std::string Text(const char* field, std::size_t capacity) {
  return std::string(field, strnlen(field, capacity));
}

absl::StatusOr<MappedRuntime> ReadMaps(std::int32_t pid) {
  if (!IsProcessAlive(pid)) {
    return absl::NotFoundError(absl::StrFormat("There is no process %d", pid));
  }
  const auto maps = base::ReadSmallFile(absl::StrFormat("/proc/%d/maps", pid));
  if (absl::IsPermissionDenied(maps.status())) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "%s belongs to another user or changed its user: only root "
        "(CAP_SYS_PTRACE) may control it",
        NameOf(pid)));
  }
  if (!maps.ok()) return maps.status();
  return FindRuntimeInMaps(*maps);
}

absl::Status ReadPage(const base::ScopedFd& file, ControlPage& page) {
  if (pread(file.get(), static_cast<void*>(&page), sizeof(page), 0) !=
      static_cast<ssize_t>(sizeof(page))) {
    return absl::UnavailableError("its control page was cut");
  }
  return absl::OkStatus();
}

// The process of a page that `pid` has since it was forked; 0: it is its own.
// Numbers are those of their own pid namespace: process 1 of a container is not
// process 1 here.
std::int32_t OtherOwner(const ControlPage& page, std::int32_t pid) {
  const auto space = static_cast<std::uint32_t>(page.pid_namespace);
  const std::uint32_t own_space = PidNamespaceOf(pid);
  const std::int32_t own_pid = OwnNumber(pid, pid);
  // It was forked into another namespace, if both are known.
  const bool moved = space != 0 && own_space != 0 && space != own_space;
  if (!moved && (own_pid == 0 || page.pid == own_pid)) return 0;
  const std::int32_t owner = space == 0 ? 0 : FindProcess(space, page.pid);
  return owner != 0 ? owner : page.pid;
}

// Takes the lock: one controller at a time.
absl::Status Lock(const base::ScopedFd& file, std::int32_t pid,
                  std::uint64_t wait_ns) {
  const std::uint64_t limit = MonotonicNs() + wait_ns;
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (MonotonicNs() >= limit) {
      return absl::UnavailableError(absl::StrFormat(
          "%s has been controlled by another countrace for 2 s: try again",
          NameOf(pid)));
    }
    SleepNs(kMillisecond);
  }
  return absl::OkStatus();
}

// The trace whose directory, or whose folder of a user, a process joins.
std::string_view TraceOf(std::string_view directory) {
  const std::size_t slash = directory.rfind('/');
  const bool is_user =
      slash != directory.npos &&
      directory.substr(slash + 1).starts_with(logformat::kUserFolderPrefix);
  return is_user ? directory.substr(0, slash) : directory;
}

}  // namespace

void ProcessControl::Unmapper::operator()(void* page) const {
  munmap(page, kControlPageBytes);
}

std::string ProcessControl::Name() const { return NameOf(pid_); }

absl::StatusOr<ProcessControl> ProcessControl::Open(std::int32_t pid,
                                                    std::uint64_t wait_ns) {
  const auto mapped = ReadMaps(pid);
  if (!mapped.ok()) return mapped.status();
  if (mapped->page_path.empty()) {
    if (!mapped->has_library) {
      return NoRuntime(
          absl::StrFormat("%s has no countrace runtime library in it: %s",
                          NameOf(pid), kRestart));
    }
    return NoRuntime(absl::StrFormat(
        "%s has the runtime library, but no control page: it has no hooks, "
        "was started with COUNTRACE_CONTROL=off, or neither /dev/shm nor /tmp "
        "took the page",
        NameOf(pid)));
  }
  auto file = OpenControlFile(pid, *mapped);
  if (!file.ok()) return file.status();
  if (absl::Status s = Lock(*file, pid, wait_ns); !s.ok()) return s;
  const auto page = std::make_unique<ControlPage>();
  if (absl::Status s = ReadPage(*file, *page); !s.ok()) return s;
  if (page->magic != kControlMagic || page->bytes != sizeof(ControlPage)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has the runtime library of another version: control-bytes=%d, "
        "expected %d; start it again with this one",
        NameOf(pid), page->bytes, sizeof(ControlPage)));
  }
  if (const std::int32_t owner = OtherOwner(*page, pid); owner != 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s was forked by process %d and did not exec: it has no control "
        "thread, so it cannot be reached while it runs; begin the recording "
        "before the fork (`countrace record -p` of the parent), or start the "
        "program with COUNTRACE_CONTROL=forks",
        NameOf(pid), owner));
  }
  ProcessControl control(pid, *std::move(file));
  control.request_ = page->reply.load(std::memory_order_relaxed);
  control.session_ = Text(page->session, sizeof(page->session));
  if (absl::Status s = control.MapForWaking(); !s.ok()) return s;
  return control;
}

absl::Status ProcessControl::MapForWaking() {
  void* const base = mmap(nullptr, kControlPageBytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED, file_.get(), 0);
  if (base == MAP_FAILED) {
    return base::ErrnoStatus(errno, "Cannot map the control page of " + Name());
  }
  wake_page_.reset(base);
  return absl::OkStatus();
}

absl::Status ProcessControl::Request(ControlCommand command,
                                     const std::string& argument,
                                     std::uint32_t from_site) {
  struct {
    ControlCommand command;
    std::uint32_t from_site;
    char argument[kControlPathBytes];
  } body{};
  constexpr std::size_t kBodyAt = offsetof(ControlPage, command);
  static_assert(offsetof(ControlPage, argument) - kBodyAt == 8);
  if (argument.size() >= sizeof(body.argument)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("The text is too long: bytes=%d, at most %d",
                        argument.size(), sizeof(body.argument) - 1));
  }
  body.command = command;
  body.from_site = from_site;
  std::memcpy(body.argument, argument.data(), argument.size());
  request_ = (request_ + 1) & kRequestNumberMask;
  // The body first: the process reads it when the number changes.
  if (pwrite(file_.get(), &body, sizeof(body), kBodyAt) != sizeof(body) ||
      pwrite(file_.get(), &request_, sizeof(request_),
             offsetof(ControlPage, request)) != sizeof(request_)) {
    return base::ErrnoStatus(errno,
                             "Cannot write the control page of " + Name());
  }
  char* const base = static_cast<char*>(wake_page_.get());
  syscall(SYS_futex, base + offsetof(ControlPage, request), FUTEX_WAKE, INT_MAX,
          nullptr, nullptr, 0);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ControlPage>> ProcessControl::Await(
    std::uint64_t deadline_ns) {
  auto page = std::make_unique<ControlPage>();
  for (;;) {
    if (absl::Status s = ReadPage(file_, *page); !s.ok()) return s;
    const std::uint32_t reply = page->reply.load(std::memory_order_acquire);
    if (reply == request_) break;
    const std::uint64_t now = MonotonicNs();
    if (now >= deadline_ns || !IsProcessAlive(pid_)) {
      return absl::UnavailableError(absl::StrFormat(
          "%s did not answer within 2 s: %s", Name(),
          IsProcessAlive(pid_) ? "is it stopped? `kill -CONT` continues it"
                               : "it has ended"));
    }
    const std::uint64_t wait = std::min(deadline_ns - now, 50 * kMillisecond);
    const timespec timeout{.tv_sec = 0, .tv_nsec = static_cast<long>(wait)};
    char* const base = static_cast<char*>(wake_page_.get());
    syscall(SYS_futex, base + offsetof(ControlPage, reply), FUTEX_WAIT, reply,
            &timeout, nullptr, 0);
  }
  session_ = Text(page->session, sizeof(page->session));
  return page;
}

absl::StatusOr<std::unique_ptr<ControlPage>> ProcessControl::Ask(
    ControlCommand command, const std::string& argument,
    std::uint32_t from_site) {
  const absl::Status asked = Request(command, argument, from_site);
  if (!asked.ok()) return asked;
  return Await(MonotonicNs() + kAnswerNs);
}

absl::Status ProcessControl::RequestJoin(const std::string& trace) {
  return Request(ControlCommand::kJoin, trace, 0);
}

absl::Status ProcessControl::AwaitJoin(const std::string& trace,
                                       std::uint64_t deadline_ns) {
  const auto page = Await(deadline_ns);
  if (!page.ok()) return page.status();
  switch ((*page)->status) {
    case ControlStatus::kOk:
      return absl::OkStatus();
    case ControlStatus::kOtherRecording: {
      // It joined before it changed its user.
      if (TraceOf(session_) == TraceOf(trace)) return absl::OkStatus();
      absl::Status status = absl::FailedPreconditionError(
          absl::StrFormat("%s takes part in the recording %s: end that one "
                          "first",
                          Name(), session_));
      status.SetPayload(kOtherRecordingPayload, absl::Cord());
      return status;
    }
    case ControlStatus::kStillLeaving:
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s is still leaving its last recording: one of its threads was "
          "stopped in the middle of a hook; continue it and try again",
          Name()));
    case ControlStatus::kCannotOpen:
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s cannot open %s (%s): choose with -o a directory that its user "
          "may write and that it sees under the same name, or record as its "
          "user",
          Name(), trace, std::strerror(static_cast<int>((*page)->error))));
    case ControlStatus::kNotRecording:
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s cannot read the recording: its runtime library is of another "
          "version; start it again with this one",
          Name()));
    default:
      break;
  }
  return absl::InternalError(
      absl::StrFormat("%s answered a request to join with status %d", Name(),
                      static_cast<int>((*page)->status)));
}

absl::StatusOr<std::vector<RunningHook>> ProcessControl::List() {
  std::vector<RunningHook> hooks;
  absl::flat_hash_set<std::string> addresses;
  std::uint32_t from = 0;
  std::uint32_t pages = 0;
  do {
    if (++pages > kMostListPages) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "%s lists more than %d pages of hooks", Name(), kMostListPages));
    }
    const auto page = Ask(ControlCommand::kList, "", from);
    if (!page.ok()) return page.status();
    const std::string text(
        (*page)->text,
        std::min<std::size_t>((*page)->text_bytes, sizeof((*page)->text)));
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (const std::string& line : lines) {
      const std::vector<std::string> fields = absl::StrSplit(line, '\t');
      if (fields.size() != 6 || !addresses.insert(fields[0]).second) continue;
      hooks.push_back(
          {fields[1], fields[2], fields[3], fields[4], fields[5] == "on"});
    }
    const std::uint32_t next = (*page)->next_site;
    if (next != 0 && next <= from) {
      return absl::InternalError(absl::StrFormat(
          "%s lists its hooks from %d to %d", Name(), from, next));
    }
    from = next;
  } while (from != 0);
  std::stable_sort(hooks.begin(), hooks.end(),
                   [](const RunningHook& a, const RunningHook& b) {
                     return a.name < b.name;
                   });
  return hooks;
}

absl::Status ProcessControl::Switch(const std::string& glob, bool on) {
  if (glob.size() >= kControlGlobBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("The glob is too long: bytes=%d, at most %d",
                        glob.size(), kControlGlobBytes - 1));
  }
  const auto page =
      Ask(on ? ControlCommand::kEnable : ControlCommand::kDisable, glob, 0);
  if (!page.ok()) return page.status();
  switch ((*page)->status) {
    case ControlStatus::kOk:
      return absl::OkStatus();
    case ControlStatus::kNoMatch:
      return absl::NotFoundError(absl::StrFormat(
          "No hook of %s matches \"%s\" (globs are on provider:name); "
          "`countrace hooks list -p %d` shows them",
          Name(), glob, pid_));
    case ControlStatus::kTooManySwitches:
      return absl::ResourceExhaustedError(absl::StrFormat(
          "%s cannot store more globs: `countrace hooks enable -p %d '*'` "
          "makes room",
          Name(), pid_));
    default:
      return absl::InternalError(
          absl::StrFormat("%s answered with status %d", Name(),
                          static_cast<int>((*page)->status)));
  }
}

}  // namespace countrace::runtime
