#include "runtime/recorder/lttng/private_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "base/text/trim.h"
#include "runtime/recorder/lttng/lttng_here.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

namespace fs = std::filesystem;

constexpr char kRootsPlace[] = "/run/lttng";
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kCommandNs = 60 * kSecond;
constexpr int kStartSeconds = 20;
constexpr std::uint64_t kEndNs = 5 * kSecond;
// Exit status of a child that failed before exec.
constexpr int kNoMount = 125;
constexpr int kNoExec = 127;

// Runs in the child, before exec: only async-signal-safe calls.
void SetUpChild(const char* run, bool mounts, bool is_daemon, pid_t parent,
                const sigset_t& mask) {
  setpgid(0, 0);
  if (is_daemon) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kNoExec);  // the parent died before prctl
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) {
    signal(number, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (mounts &&
      (unshare(CLONE_NEWNS) != 0 ||
       mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
       mount(run, kRootsPlace, nullptr, MS_BIND, nullptr) != 0)) {
    _exit(kNoMount);
  }
}

bool Ended(pid_t pid, int* status) {
  const pid_t got = waitpid(pid, status, WNOHANG);
  return got == pid || (got < 0 && errno == ECHILD);
}

// Ends it with SIGTERM, and with SIGKILL if it does not end.
void End(pid_t pid) {
  int status = 0;
  kill(pid, SIGTERM);
  for (const std::uint64_t limit = MonotonicNs() + kEndNs;
       MonotonicNs() < limit;) {
    if (Ended(pid, &status)) return;
    SleepNs(5'000'000);
  }
  kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

absl::Status NoMountError() {
  return absl::PermissionDeniedError(absl::StrFormat(
      "root's LTTng daemon of its own needs a mount namespace (CAP_SYS_ADMIN), "
      "because %s is root's one place for LTTng; run countrace as an ordinary "
      "user, or give the container CAP_SYS_ADMIN",
      kRootsPlace));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateLttngDaemon>> PrivateLttngDaemon::Start(
    bool kernel) {
  if (const absl::Status status = LttngToolsAreHere(); !status.ok()) {
    return status;
  }
  auto daemon = std::unique_ptr<PrivateLttngDaemon>(new PrivateLttngDaemon());
  if (const absl::Status status = daemon->MakeFolder(); !status.ok()) {
    return status;
  }
  if (const absl::Status status = daemon->Launch(kernel); !status.ok()) {
    return status;
  }
  return daemon;
}

PrivateLttngDaemon::~PrivateLttngDaemon() {
  if (pid_ > 0) End(pid_);
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
  // rmdir fails if it is not empty: a daemon of the user may have started
  // meanwhile.
  if (made_place_) rmdir(kRootsPlace);
}

absl::Status PrivateLttngDaemon::MakeFolder() {
  // Not in TMPDIR: socket names have room for 107 characters only.
  char folder[] = "/tmp/countrace-lttng.XXXXXX";
  if (mkdtemp(folder) == nullptr) {
    return base::ErrnoStatus(errno,
                             "Cannot make a folder for LTTng's daemon in /tmp");
  }
  folder_ = folder;
  home_ = folder_ + "/home";
  // LTTng's sockets have access modes of their own; a program that changes its
  // user must still reach its daemon.
  chmod(folder, 0711);
  mounts_ = geteuid() == 0;
  run_ = mounts_ ? folder_ + "/run" : home_ + "/.lttng";
  if (mkdir(home_.c_str(), 0711) != 0 || mkdir(run_.c_str(), 0711) != 0 ||
      mkdir((folder_ + "/no-sessions").c_str(), 0700) != 0) {
    return base::ErrnoStatus(errno, "Cannot make folders in " + folder_);
  }
  if (!mounts_) return absl::OkStatus();
  if (symlink("../run", (home_ + "/.lttng").c_str()) != 0) {
    return base::ErrnoStatus(errno, "Cannot make a link in " + home_);
  }
  made_place_ = mkdir(kRootsPlace, 0755) == 0;
  if (!made_place_ && errno != EEXIST) {
    return base::ErrnoStatus(errno,
                             absl::StrFormat("Cannot make %s", kRootsPlace));
  }
  return absl::OkStatus();
}

PrivateLttngDaemon::Child PrivateLttngDaemon::Spawn(
    const std::vector<std::string>& words, int output, bool is_daemon) const {
  std::vector<std::string> arguments = words;
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    // The daemon and its tools are not recorded.
    const bool ours =
        text.rfind("LTTNG_HOME=", 0) == 0 || text.rfind("LD_PRELOAD=", 0) == 0;
    if (!ours) environment.emplace_back(text);
  }
  environment.push_back("LTTNG_HOME=" + home_);
  std::vector<char*> argv, envp;
  for (std::string& word : arguments) argv.push_back(word.data());
  for (std::string& entry : environment) envp.push_back(entry.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  const pid_t parent = getpid();
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  // The daemon sends SIGUSR1 when it is ready; Launch() waits for it.
  sigset_t childs = mask;
  sigdelset(&childs, SIGUSR1);
  sigdelset(&childs, SIGCHLD);
  const pid_t pid = fork();
  if (pid == 0) {
    SetUpChild(run_.c_str(), mounts_, is_daemon, parent, childs);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(kNoExec);
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return {pid, pid < 0 ? error : 0};
}

absl::Status PrivateLttngDaemon::Launch(bool kernel) {
  const std::string log = folder_ + "/log";
  const base::ScopedFd output(
      open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!output.is_open()) return base::ErrnoStatus(errno, "Cannot write " + log);
  std::vector<std::string> words = {"lttng-sessiond", "--sig-parent",
                                    "--load=" + folder_ + "/no-sessions"};
  if (!kernel) words.push_back("--no-kernel");

  sigset_t ready, mask;
  sigemptyset(&ready);
  sigaddset(&ready, SIGUSR1);
  sigaddset(&ready, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &ready, &mask);
  const Child child = Spawn(words, output.get(), /*is_daemon=*/true);
  absl::Status status = absl::OkStatus();
  if (child.pid < 0) status = base::ErrnoStatus(child.error, "Cannot fork");
  pid_ = child.pid;
  for (const std::uint64_t limit = MonotonicNs() + kStartSeconds * kSecond;
       pid_ > 0;) {
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    siginfo_t info{};
    const int number = sigtimedwait(&ready, &info, &second);
    if (number == SIGUSR1 && info.si_pid == pid_) break;
    int wait_status = 0;
    if (Ended(pid_, &wait_status)) {
      pid_ = -1;
      status = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kNoMount
                   ? NoMountError()
                   : absl::UnavailableError(absl::StrFormat(
                         "lttng-sessiond did not start: %s", LogTail()));
    } else if (MonotonicNs() >= limit) {
      status = absl::UnavailableError(
          absl::StrFormat("lttng-sessiond was not ready after %d s: %s",
                          kStartSeconds, LogTail()));
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return status;
}

absl::StatusOr<std::string> PrivateLttngDaemon::Run(
    const std::vector<std::string>& words) const {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return base::ErrnoStatus(errno, "Cannot pipe");
  const base::ScopedFd reader(ends[0]);
  base::ScopedFd writer(ends[1]);
  // -n: it must not start a daemon of the user.
  std::vector<std::string> command = {"lttng", "-n"};
  command.insert(command.end(), words.begin(), words.end());
  const Child child = Spawn(command, writer.get(), /*is_daemon=*/false);
  writer.Reset();
  if (child.pid < 0) return base::ErrnoStatus(child.error, "Cannot fork");
  std::string text;
  const std::uint64_t limit = MonotonicNs() + kCommandNs;
  bool late = false;
  for (;;) {
    const std::uint64_t now = MonotonicNs();
    late = now >= limit;
    if (late) break;
    pollfd wait{.fd = reader.get(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, static_cast<int>((limit - now) / 1'000'000) + 1) <= 0) {
      continue;
    }
    char piece[4096];
    const ssize_t got = read(reader.get(), piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  if (late) kill(child.pid, SIGKILL);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  std::string said(base::Trim(text));
  std::replace(said.begin(), said.end(), '\n', ';');
  if (late) {
    return absl::DeadlineExceededError(
        absl::StrFormat("`lttng %s` did not end within %d s: %s", words[0],
                        static_cast<int>(kCommandNs / kSecond), said));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMount) {
    return NoMountError();
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::UnavailableError(
        absl::StrFormat("`lttng %s` failed: %s", words[0], said));
  }
  return text;
}

std::vector<EnvironmentChange> PrivateLttngDaemon::ProgramEnvironment() const {
  return {{"LTTNG_HOME", home_}};
}

bool PrivateLttngDaemon::is_running() const {
  int status = 0;
  if (pid_ > 0 && Ended(pid_, &status)) pid_ = -1;
  return pid_ > 0;
}

std::string PrivateLttngDaemon::LogTail() const {
  const auto log = base::ReadSmallFile(folder_ + "/log");
  if (!log.ok()) return "it printed nothing";
  std::string tail(base::Trim(*log));
  if (tail.empty()) return "it printed nothing";
  if (tail.size() > 500) tail = "..." + tail.substr(tail.size() - 500);
  std::replace(tail.begin(), tail.end(), '\n', ';');
  return tail;
}

}  // namespace countrace::runtime
