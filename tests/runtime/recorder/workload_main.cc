// Programs with known behaviour, for the recorder's tests. Each appends lines
// "KEY PID NUMBER..." to the file REPORT, in one write, so that a test can
// compare the trace with the kernel's figures for the program.
//
//   recorder_workload REPORT spin MILLISECONDS CPU [FILE]
//                    burn CPU time until FILE exists, then that much
//   recorder_workload REPORT sleep MILLISECONDS
//   recorder_workload REPORT pingpong ROUNDS CPU     two children over pipes
//   recorder_workload REPORT faults PAGES            touch fresh pages
//   recorder_workload REPORT tree                    fork, thread, name, exec
//   recorder_workload REPORT account MODE...         a child does MODE; what it
//                                                    ran, by schedstat
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace {

std::string g_report;

void Report(const std::string& line) {
  const int fd =
      open(g_report.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string text = line + "\n";
  if (fd < 0 || write(fd, text.data(), text.size()) !=
                    static_cast<ssize_t>(text.size())) {
    std::perror("report");
    _exit(99);
  }
  close(fd);
}

void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    std::perror("sched_setaffinity");
    _exit(98);
  }
}

std::uint64_t ReadClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// "on_cpu_ns wait_ns timeslices" of the calling process's first thread.
std::string SchedStat() {
  std::ifstream file("/proc/self/schedstat");
  std::string line;
  std::getline(file, line);
  return line;
}

void ReportSchedStat() {
  std::ostringstream line;
  line << "schedstat " << getpid() << " " << SchedStat();
  Report(line.str());
}

// The account of a child that has ended and is not waited for, "account PID
// NS": the whole. A program's own reading is as old as the last tick, and
// without its exit.
void ReportAccount(pid_t child) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0) {
    std::perror("waitid");
    _exit(94);
  }
  std::uint64_t ran_ns = 0;
  std::uint64_t before_ns = 0;
  // It becomes a zombie just before its last switch.
  do {
    before_ns = ran_ns;
    usleep(20'000);
    std::ifstream("/proc/" + std::to_string(child) + "/schedstat") >> ran_ns;
  } while (ran_ns != before_ns);
  std::ostringstream line;
  line << "account " << child << " " << ran_ns;
  Report(line.str());
  waitpid(child, nullptr, 0);
}

std::uint64_t ContextSwitches() {
  std::ifstream file("/proc/self/status");
  std::string line;
  std::uint64_t sum = 0;
  while (std::getline(file, line)) {
    const std::size_t at = line.find("ctxt_switches:");
    if (at != std::string::npos) {
      sum += std::strtoull(line.c_str() + at + 14, nullptr, 10);
    }
  }
  return sum;
}

void Spin(std::uint64_t ms, const char* file) {
  std::uint64_t begin_ns = 0;
  while (file != nullptr && access(file, F_OK) != 0) {
    begin_ns = ReadClock(CLOCK_PROCESS_CPUTIME_ID);
  }
  while (ReadClock(CLOCK_PROCESS_CPUTIME_ID) - begin_ns < ms * 1'000'000) {
  }
}

void PingPongSide(int read_fd, int write_fd, bool first, long rounds) {
  char byte = 0;
  for (long i = 0; i < rounds; ++i) {
    if (first && write(write_fd, &byte, 1) != 1) _exit(97);
    if (read(read_fd, &byte, 1) != 1) _exit(97);
    if (!first && write(write_fd, &byte, 1) != 1) _exit(97);
  }
  std::ostringstream line;
  line << "switches " << getpid() << " " << ContextSwitches();
  Report(line.str());
  _exit(0);
}

void PingPong(long rounds, int cpu) {
  PinTo(cpu);
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) _exit(96);
  const pid_t a = fork();
  if (a == 0) PingPongSide(back[0], there[1], true, rounds);
  const pid_t b = fork();
  if (b == 0) PingPongSide(there[0], back[1], false, rounds);
  waitpid(a, nullptr, 0);
  waitpid(b, nullptr, 0);
}

void Faults(std::size_t pages) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<volatile char*>(
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  // One fault for each page, not one for 2 MiB.
  madvise(const_cast<char*>(memory), pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) memory[i * page] = 1;
  std::ostringstream line;
  line << "faults " << getpid() << " "
       << reinterpret_cast<std::uintptr_t>(memory) << " " << pages;
  Report(line.str());
}

void* NamedThread(void*) {
  pthread_setname_np(pthread_self(), "ct-thread");
  std::ostringstream line;
  line << "thread " << getpid() << " " << gettid();
  Report(line.str());
  return nullptr;
}

void Tree() {
  prctl(PR_SET_NAME, "ct-root");
  pthread_t thread;
  pthread_create(&thread, nullptr, NamedThread, nullptr);
  pthread_join(thread, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NAME, "ct-child");
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(95);
    }
    waitpid(grandchild, nullptr, 0);
    std::ostringstream line;
    line << "grandchild " << getpid() << " " << grandchild;
    Report(line.str());
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  std::ostringstream line;
  line << "child " << getpid() << " " << child;
  Report(line.str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_report = argv[1];
  if (std::strcmp(argv[2], "account") == 0) {
    if (const pid_t child = fork(); child != 0) {
      ReportAccount(child);
      return 0;
    }
    --argc;
    ++argv;
  }
  const std::string mode = argv[2];
  const auto number = [&](int index) {
    return argc > index ? std::strtol(argv[index], nullptr, 10) : 0;
  };
  if (mode == "spin") {
    PinTo(static_cast<int>(number(4)));
    Spin(static_cast<std::uint64_t>(number(3)), argc > 5 ? argv[5] : nullptr);
    ReportSchedStat();
  } else if (mode == "sleep") {
    const timespec time{.tv_sec = number(3) / 1000,
                        .tv_nsec = number(3) % 1000 * 1'000'000};
    nanosleep(&time, nullptr);
    ReportSchedStat();
  } else if (mode == "pingpong") {
    PingPong(number(3), static_cast<int>(number(4)));
  } else if (mode == "faults") {
    Faults(static_cast<std::size_t>(number(3)));
  } else if (mode == "tree") {
    Tree();
  } else {
    return 2;
  }
  return 0;
}
