#include "runtime/recorder/session/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/system/descriptor_limit.h"

namespace countrace::runtime {
namespace {

// The environment with `changes`, in the form of execvpe(3).
std::vector<std::string> BuildEnvironment(
    const std::vector<EnvironmentChange>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const EnvironmentChange& change : changes) {
      replaced |= text.size() > change.name.size() &&
                  text.substr(0, change.name.size()) == change.name &&
                  text[change.name.size()] == '=';
    }
    if (!replaced) result.emplace_back(text);
  }
  for (const EnvironmentChange& change : changes) {
    result.push_back(absl::StrFormat("%s=%s", change.name, change.value));
  }
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The file that execvpe(3) tries successfully, so that the child need not
// search, which the kernel's records would show. Empty: leave it to execvpe().
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::string file(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    file += file.empty() ? name : "/" + name;
    struct stat status {};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        faccessat(AT_FDCWD, file.c_str(), X_OK, AT_EACCESS) == 0) {
      return file;
    }
  }
  return "";
}

struct Channel {
  base::ScopedFd ours, childs;
};
// A socket pair, not a pipe: sending to a dead child must not raise SIGPIPE.
absl::StatusOr<Channel> MakeChannel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return base::ErrnoStatus(errno, "Cannot create a socket pair");
  }
  return Channel{base::ScopedFd(ends[0]), base::ScopedFd(ends[1])};
}

// Runs in the child: only async-signal-safe calls, because the parent may have
// threads. What precedes the wait is not recorded, so as much as possible does.
[[noreturn]] void RunChild(const Channel& channel, const char* program,
                           char* const* arguments, char* const* environment,
                           const sigset_t& mask, const StopSignals& signals) {
  // Our copy of the recorder's end would hide the recorder's death.
  close(channel.ours.get());
  const int fd = channel.childs.get();
  signals.RestoreInChild();
  RestoreDescriptorLimit();
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  char byte = 1;
  if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1) _exit(127);
  ssize_t got = 0;
  do {
    got = read(fd, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(127);  // the recorder gave up or died
  if (*program != '\0') execve(program, arguments, environment);
  // Also a script without an interpreter's name.
  execvpe(arguments[0], arguments, environment);
  const int failure = errno;
  [[maybe_unused]] const ssize_t written =
      send(fd, &failure, sizeof(failure), MSG_NOSIGNAL);
  _exit(failure == ENOENT ? 127 : 126);
}

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

CommandUsage UsageOf(const rusage& usage) {
  return {.user_ns = Nanoseconds(usage.ru_utime),
          .system_ns = Nanoseconds(usage.ru_stime),
          .minor_faults = static_cast<std::uint64_t>(usage.ru_minflt),
          .major_faults = static_cast<std::uint64_t>(usage.ru_majflt),
          .voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw),
          .involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

// The reason why exec of `program` failed with errno `failure`, as text and as
// a shell's exit status.
absl::Status ExecFailure(const std::string& program, int failure) {
  if (failure != ENOENT) {
    absl::Status status = absl::FailedPreconditionError(absl::StrFormat(
        "Cannot execute \"%s\": %s", program, std::strerror(failure)));
    status.SetPayload(kCommandExitPayload, absl::Cord("126"));
    return status;
  }
  const bool searched = program.find('/') == std::string::npos;
  absl::Status status = absl::NotFoundError(absl::StrFormat(
      "Command not found: \"%s\"%s", program,
      searched ? " is in no directory of PATH"
               : ", or the interpreter it names, does not exist"));
  status.SetPayload(kCommandExitPayload, absl::Cord("127"));
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Command>> Command::Fork(
    const std::vector<std::string>& arguments,
    const std::vector<EnvironmentChange>& environment,
    const StopSignals& signals) {
  absl::StatusOr<Channel> channel = MakeChannel();
  if (!channel.ok()) return channel.status();
  // Everything that allocates comes before fork().
  std::vector<std::string> argument_strings = arguments;
  std::vector<std::string> environment_strings = BuildEnvironment(environment);
  const std::vector<char*> argument_pointers = Pointers(argument_strings);
  const std::vector<char*> environment_pointers = Pointers(environment_strings);
  const std::string program = FindProgram(arguments[0]);
  auto command = std::unique_ptr<Command>(new Command());

  // Blocks signals: our handlers must not run in the child before it resets
  // them.
  sigset_t all;
  sigset_t mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  const pid_t pid = fork();
  if (pid == 0) {
    RunChild(*channel, program.c_str(), argument_pointers.data(),
             environment_pointers.data(), mask, signals);
  }
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (pid < 0) return base::ErrnoStatus(fork_error, "Cannot fork the command");
  command->pid_ = pid;
  command->pidfd_ =
      base::ScopedFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (command->pidfd_.is_open()) {
    fcntl(command->pidfd_.get(), F_SETFD, FD_CLOEXEC);
  }
  channel->childs.Reset();
  // Until the child waits; end of file if it was killed, which Start() finds.
  char ready = 0;
  while (read(channel->ours.get(), &ready, 1) < 0 && errno == EINTR) {
  }
  command->channel_ = std::move(channel->ours);
  command->program_ = arguments[0];
  return command;
}

Command::~Command() {
  if (started_ || status_ || pid_ < 0) return;
  channel_.Reset();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

absl::Status Command::Start() {
  const char byte = 1;
  int failure = 0;
  ssize_t got = 0;
  // A child that was killed meanwhile is not an error of Start().
  if (send(channel_.get(), &byte, 1, MSG_NOSIGNAL) == 1) {
    do {
      got = read(channel_.get(), &failure, sizeof(failure));
    } while (got < 0 && errno == EINTR);
  }
  channel_.Reset();
  if (got != sizeof(failure)) {
    started_ = true;
    return absl::OkStatus();
  }
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
  return ExecFailure(program_, failure);
}

std::optional<int> Command::TryWait() {
  if (status_) return status_;
  int status = 0;
  rusage usage{};
  const pid_t got = wait4(pid_, &status, WNOHANG, &usage);
  if (got == pid_) {
    status_ = status;
    usage_ = UsageOf(usage);
  } else if (got < 0 && errno == ECHILD) {
    status_ = 0;  // another part of the process reaped it: the status is lost
  }
  return status_;
}

void Command::Signal(int number) const {
  if (!status_) kill(pid_, number);
}

}  // namespace countrace::runtime
