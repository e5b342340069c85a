#include "runtime/recorder/session/session_processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "logformat/session_layout.h"

namespace countrace::runtime {
namespace {

// A shell that becomes another one 1,000 times.
pid_t StartExecs(const std::string& environment) {
  static const char* const kAgain =
      "test $1 -eq 0 || exec sh -c \"$0\" \"$0\" $(($1 - 1))";
  const pid_t child = fork();
  if (child != 0) return child;
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
  const pid_t child =
      StartExecs(std::string(logformat::kSessionEnvironment) + "=" + session);
  REQUIRE(child > 0);
  int looks = 0, missed = 0, status = 0;
  bool begun = false;  // its first program has the environment
  for (;;) {
    const bool found = ProcessesOfSession(session).contains(child);
    if (waitpid(child, &status, WNOHANG) != 0) break;
    begun |= found;
    if (!begun) continue;
    ++looks;
    missed += found ? 0 : 1;
  }
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(looks > 0);
  CHECK(missed == 0);
}

}  // namespace
}  // namespace countrace::runtime
