// One process waits in a segment for data that another one produces in a
// segment, over a pipe, once the first sleeps. Prints "pid READER child
// WRITER".
#include <countrace/hooks.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

// On a busy machine the reader may be late for its read(2).
bool Sleeps(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  return stat.find(") S ") != std::string::npos;
}

void Write(int to, int times, long ns) {
  prctl(PR_SET_NAME, "writer");
  for (int i = 0; i < times; ++i) {
    COUNTRACE_SEGMENT("writer", "make");
    const timespec pause = {0, ns};
    do {
      nanosleep(&pause, nullptr);
    } while (!Sleeps(getppid()));
    if (write(to, "x", 1) != 1) _exit(1);
  }
  _exit(0);
}

void Read(int from, int times) {
  for (int i = 0; i < times; ++i) {
    COUNTRACE_SEGMENT("reader", "wait");
    char byte = 0;
    if (read(from, &byte, 1) != 1) std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 20;
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return 1;
  prctl(PR_SET_NAME, "reader");
  const pid_t writer = fork();
  if (writer < 0) return 1;
  if (writer == 0) Write(pipe_ends[1], times, 5'000'000);
  Read(pipe_ends[0], times);
  int status = 0;
  waitpid(writer, &status, 0);
  std::printf("pid %d child %d\n", getpid(), writer);
  return status;
}
