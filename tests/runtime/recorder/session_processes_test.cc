#include "runtime/recorder/session/session_processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "logformat/session_layout.h"

namespace countrace::runtime {
namespace {

// A shell that becomes another one 1,000 times, says so, and stays: a process
// that ends has no environment either.
pid_t StartExecs(const std::string& environment, int said) {
  static const char* const kAgain =
      "test $1 -gt 0 && exec sh -c \"$0\" \"$0\" $(($1 - 1)); "
      "echo; exec sleep 1000";
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(said, STDOUT_FILENO);
  const char* const words[] = {"sh", "-c", kAgain, kAgain, "1000", nullptr};
  const char* const variables[] = {environment.c_str(), "PATH=/usr/bin:/bin",
                                   nullptr};
  execve("/bin/sh", const_cast<char* const*>(words),
         const_cast<char* const*>(variables));
  _exit(127);
}

TEST_CASE("processes of a session: also while it replaces its program",
          "[runtime]") {
  const std::string session = "session-of-" + std::to_string(getpid());
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = StartExecs(
      std::string(logformat::kSessionEnvironment) + "=" + session, ends[1]);
  close(ends[1]);
  REQUIRE(child > 0);
  pollfd said = {ends[0], POLLIN, 0};
  int looks = 0, missed = 0;
  bool begun = false;  // its first program has the environment
  while (poll(&said, 1, 0) == 0) {
    const bool found = ProcessesOfSession(session).contains(child);
    begun |= found;
    if (!begun) continue;
    ++looks;
    missed += found ? 0 : 1;
  }
  CHECK(said.revents == POLLIN);
  CHECK(looks > 0);
  CHECK(missed == 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
}

}  // namespace
}  // namespace countrace::runtime
