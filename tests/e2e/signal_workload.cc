// Counts the signals that its threads get while they touch fresh pages: PAGES
// in the main thread, twice as many in another, three times in a child process.
//
// usage: signal_workload PAGES SIGNAL [wait]
//          SIGNAL: a number; 0: no handler. wait: begins at a line on stdin
// Prints of each its signals, and its page faults since the handler was there.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

long pages = 0;
// Handlers run in the thread that overflowed.
thread_local volatile sig_atomic_t signals = 0;

void Count(int /*number*/) { signals = signals + 1; }

long Faults() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

void Touch(const char* who, long times) {
  const long before = Faults();
  const long page = sysconf(_SC_PAGESIZE);
  const auto bytes = static_cast<std::size_t>(times * pages * page);
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED || madvise(at, bytes, MADV_NOHUGEPAGE) != 0) abort();
  for (long i = 0; i < times * pages; ++i) {
    static_cast<volatile char*>(at)[i * page] = 1;
  }
  const long faults = Faults() - before;
  std::printf("%s %d %ld\n", who, static_cast<int>(signals), faults);
  std::fflush(stdout);
}

void* TouchInThread(void* /*none*/) {
  Touch("thread", 2);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  pages = std::atol(argv[1]);
  const int number = std::atoi(argv[2]);
  if (number != 0) {
    struct sigaction action {};
    action.sa_handler = Count;
    action.sa_flags = SA_RESTART;
    if (sigaction(number, &action, nullptr) != 0) return 2;
  }
  if (argc > 3) {
    std::printf("ready\n");
    std::fflush(stdout);
    if (std::getchar() == EOF) return 1;
  }
  Touch("main", 1);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, TouchInThread, nullptr) != 0) return 1;
  pthread_join(thread, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    signals = 0;
    Touch("child", 3);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
