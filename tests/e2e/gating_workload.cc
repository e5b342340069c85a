// Processes with known numbers of page faults in user and in kernel mode, for
// gating_test.py: one to be marked, one not, one that renames itself, each with
// children forked before and after the recording begins, and one that execs.
//
//   gating_workload EXEC_PROGRAM
//
// Prints its processes as JSON when all are ready, waits for a line on stdin,
// lets them fault, prints the faults of each one, and waits for the end of
// stdin.
//
// Faults are known because each region is mapped before and touched once. All
// other code that could fault ran before in a warm-up, and children share their
// parent's memory (CLONE_VM): nothing is copied on write.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kPageBytes = 4096;
constexpr int kMaxPages = 64;

struct Work {
  int user, kernel;  // pages to touch in that mode
};

struct Region {
  char* user;
  char* kernel;
};

struct Actor {
  const char* name;
  Work before, after, early_child, late_child;
  bool renames;  // between `before` and `after`
  // Shared with the first process.
  int pid, early_pid, late_pid;
  long faults, early_faults, late_faults;  // as the kernel counted them
};

int g_zero = -1;
int g_go[2], g_done[2];

char* Map(bool shared) {
  const int flags = MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE);
  void* memory = mmap(nullptr, kMaxPages * kPageBytes, PROT_READ | PROT_WRITE,
                      flags, -1, 0);
  if (memory == MAP_FAILED) abort();
  madvise(memory, kMaxPages * kPageBytes, MADV_NOHUGEPAGE);
  return static_cast<char*>(memory);
}

Region NewRegion() { return {Map(false), Map(false)}; }

void Touch(const Region& region, const Work& work) {
  for (int i = 0; i < work.user; ++i) {
    *static_cast<volatile char*>(region.user + i * kPageBytes) = 1;
  }
  for (int i = 0; i < work.kernel; ++i) {
    if (read(g_zero, region.kernel + i * kPageBytes, 1) != 1) abort();
  }
}

long Faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

void Nap() { usleep(20'000); }

struct Child {
  Region region;
  Work work;
  int wait_fd;  // -1: at once
  long* faults;
  char stack[64 * 1024];
};

int RunChild(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 0;
  if (child.wait_fd >= 0 && read(child.wait_fd, &byte, 1) != 1) return 1;
  const long begin = Faults();
  Touch(child.region, child.work);
  *child.faults = Faults() - begin;
  return 0;
}

int Fork(Child& child) {
  const int pid = clone(RunChild, child.stack + sizeof(child.stack) - 64,
                        CLONE_VM | SIGCHLD, &child);
  if (pid < 0) abort();
  return pid;
}

Child* NewChild(const Work& work, int wait_fd, long* faults) {
  auto* child = static_cast<Child*>(
      mmap(nullptr, sizeof(Child), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  if (child == MAP_FAILED) abort();
  memset(child, 1, sizeof(*child));
  child->region = NewRegion();
  child->work = work;
  child->wait_fd = wait_fd;
  child->faults = faults;
  return child;
}

void Await(int pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || status != 0) abort();
}

// The work of an actor; for the warm-up with separate regions and numbers.
void Play(Actor& actor, const Region& region, Child& late, const char* new_name,
          int early_go) {
  const long begin = Faults();
  Nap();
  Touch(region, actor.before);
  Nap();
  if (actor.renames) prctl(PR_SET_NAME, new_name);
  Nap();
  Touch({region.user + actor.before.user * kPageBytes,
         region.kernel + actor.before.kernel * kPageBytes},
        actor.after);
  if (write(early_go, "x", 1) != 1) abort();
  Await(actor.early_pid);
  actor.late_pid = Fork(late);
  Await(actor.late_pid);
  actor.faults = Faults() - begin;
}

[[noreturn]] void RunActor(Actor& actor) {
  actor.pid = getpid();
  int early_go[2];
  if (pipe(early_go) != 0) abort();
  Child* const warm_early = NewChild({2, 2}, early_go[0], &actor.early_faults);
  Child* const warm_late = NewChild({2, 2}, -1, &actor.late_faults);
  Child* const early =
      NewChild(actor.early_child, early_go[0], &actor.early_faults);
  Child* const late = NewChild(actor.late_child, -1, &actor.late_faults);
  const Region warm = NewRegion();
  const Region region = NewRegion();
  mlockall(MCL_CURRENT | MCL_ONFAULT);
  actor.early_pid = Fork(*warm_early);
  Play(actor, warm, *warm_late, actor.name, early_go[1]);
  actor.early_pid = Fork(*early);
  char byte = 1;
  if (write(g_done[1], &byte, 1) != 1) abort();
  if (read(g_go[0], &byte, 1) != 1) abort();
  Play(actor, region, *late, "gate-renamed", early_go[1]);
  if (write(g_done[1], &byte, 1) != 1) abort();
  // Waits until its parent ends, in a call that was made before: the first call
  // of another function may fault, in its page or in the dynamic linker's.
  if (read(g_go[0], &byte, 1) != 1) abort();
  abort();
}

int Fork(void (*run)(Actor&), Actor& actor) {
  const int pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(actor);
  }
  return pid;
}

void AwaitAll(int count) {
  for (int i = 0; i < count; ++i) {
    char byte = 0;
    if (read(g_done[0], &byte, 1) != 1) abort();
  }
}

void Print(const char* name, int pid, const Work& before, const Work& after,
           long faults) {
  printf(
      "{\"name\": \"%s\", \"pid\": %d, \"before\": [%d, %d], "
      "\"after\": [%d, %d], \"faults\": %ld}",
      name, pid, before.user, before.kernel, after.user, after.kernel, faults);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  g_zero = open("/dev/zero", O_RDONLY);
  if (pipe(g_go) != 0 || pipe(g_done) != 0) abort();
  auto* actors = reinterpret_cast<Actor*>(Map(true));
  constexpr Work kNone = {0, 0};
  const Actor kActors[] = {
      {"marked", {11, 7}, {5, 3}, {17, 2}, {4, 19}, false, 0, 0, 0, 0, 0, 0},
      {"unmarked", {13, 9}, {1, 2}, {6, 23}, {21, 8}, false, 0, 0, 0, 0, 0, 0},
      {"renamed", {10, 20}, {15, 12}, {3, 5}, {14, 1}, true, 0, 0, 0, 0, 0, 0},
  };
  constexpr int kCount = sizeof(kActors) / sizeof(kActors[0]);
  for (int i = 0; i < kCount; ++i) {
    actors[i] = kActors[i];
    Fork(RunActor, actors[i]);
  }
  // One that gets its name by exec; the faults of its start are not known.
  int exec_go[2];
  if (pipe(exec_go) != 0) abort();
  const int exec_pid = fork();
  if (exec_pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    if (read(exec_go[0], &byte, 1) != 1) _exit(1);
    Nap();
    execl(argv[1], argv[1], static_cast<char*>(nullptr));
    _exit(127);
  }
  AwaitAll(kCount);
  printf("{\"exec\": %d", exec_pid);
  for (int i = 0; i < kCount; ++i) {
    printf(", \"%s\": %d", actors[i].name, actors[i].pid);
  }
  printf("}\n");
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof(line), stdin) == nullptr) return 1;
  if (write(exec_go[1], "x", 1) != 1 ||
      write(g_go[1], "xxx", kCount) != kCount) {
    abort();
  }
  AwaitAll(kCount);
  int status = 0;
  waitpid(exec_pid, &status, 0);
  printf("[");
  for (int i = 0; i < kCount; ++i) {
    const Actor& actor = actors[i];
    char name[32];
    Print(actor.name, actor.pid, actor.before, actor.after, actor.faults);
    printf(", ");
    snprintf(name, sizeof(name), "%s-early", actor.name);
    Print(name, actor.early_pid, kNone, actor.early_child, actor.early_faults);
    printf(", ");
    snprintf(name, sizeof(name), "%s-late", actor.name);
    Print(name, actor.late_pid, kNone, actor.late_child, actor.late_faults);
    printf(i + 1 < kCount ? ", " : "]\n");
  }
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != nullptr) {
  }
  return status;  // the others end with their parent
}
