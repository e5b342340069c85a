// Waits for a disk, and a storm beside them: pairs_disk [GATE].
//
// Reads past the page cache and writes to the disk itself, while a process on
// each CPU computes, touches new pages and makes system calls: they are there
// to be interrupted by what ends the waits, and make more records than a small
// kernel ring holds.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <vector>

#include "countrace/hooks.h"
#include "tests/e2e/pairs/own_truth.h"

namespace {

constexpr int kReads = 400;
constexpr int kSyncs = 3;
constexpr std::size_t kBlock = 4096;
constexpr int kPages = 64;  // a storm's round touches these, and calls as often

[[noreturn]] void Storm() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (volatile std::uint64_t x = 0;;) {
    for (int i = 0; i < 200'000; ++i) x = x * 6364136223846793005u + 1;
    void* const pages = mmap(nullptr, kPages * kBlock, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) _exit(4);
    for (int i = 0; i < kPages; ++i) {
      static_cast<volatile char*>(pages)[i * kBlock] = 1;
      syscall(SYS_getppid);
    }
    munmap(pages, kPages * kBlock);
  }
}

// By a system call that no program makes as it begins.
bool Reads(int file, void* block, pairs::Truth* truth) {
  const iovec part{block, kBlock};
  for (int i = 0; i < kReads; ++i) {
    pairs::Span outside(&truth->outside);
    COUNTRACE_SEGMENT("disk", "read");
    pairs::Span inside(&truth->inside);
    ++truth->calls;
    if (preadv(file, &part, 1, static_cast<off_t>(i * kBlock)) !=
        static_cast<ssize_t>(kBlock)) {
      return false;
    }
  }
  return true;
}

bool Syncs(int file, const void* block, pairs::Truth* truth) {
  for (int i = 0; i < kSyncs; ++i) {
    pairs::Span outside(&truth->outside);
    COUNTRACE_SEGMENT("disk", "sync");
    pairs::Span inside(&truth->inside);
    ++truth->calls;
    if (pwrite(file, block, kBlock, static_cast<off_t>(i * kBlock)) !=
            static_cast<ssize_t>(kBlock) ||
        fdatasync(file) != 0) {
      return false;
    }
  }
  return true;
}

// A file of its own, past the page cache; -1: the file system has no such
// files.
int MakeFile(const void* block) {
  char name[] = "disk.XXXXXX";
  const int file = mkostemp(name, O_DIRECT | O_CLOEXEC);
  if (file < 0) return -1;
  unlink(name);
  for (int i = 0; i < kReads; ++i) {
    if (pwrite(file, block, kBlock, static_cast<off_t>(i * kBlock)) !=
        static_cast<ssize_t>(kBlock)) {
      return -1;
    }
  }
  return fsync(file) == 0 ? file : -1;
}

}  // namespace

extern "C" __attribute__((noinline)) int ProbedFunction(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

int main(int argc, char** argv) {
  const pairs::Life life =
      pairs::Life::BeginBehind(argc > 1 ? argv[1] : nullptr);
  COUNTRACE_HOOK("disk", "begin");  // the first hook of a process takes long
  void* const block = mmap(nullptr, kBlock, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return 3;
  *static_cast<volatile char*>(block) = 1;
  const int file = MakeFile(block);
  if (file < 0) return 77;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof(cpus), &cpus);
  std::vector<pid_t> storms;
  for (int i = 0; i < CPU_COUNT(&cpus); ++i) {
    const pid_t child = fork();
    if (child == 0) Storm();
    if (child < 0) return 3;
    storms.push_back(child);
  }
  pairs::Truths truths;
  const bool done = Reads(file, block, &truths["disk:read"]) &&
                    Syncs(file, block, &truths["disk:sync"]);
  for (int i = 0; i < 20; ++i) {
    ProbedFunction(i);
    COUNTRACE_HOOK("disk", "query__start");
    COUNTRACE_HOOK("disk", "query__done");
  }
  for (const pid_t child : storms) kill(child, SIGKILL);
  for (const pid_t child : storms) waitpid(child, nullptr, 0);
  if (!done) return 4;
  char more[512];
  std::snprintf(
      more, sizeof(more),
      ", \"children_cpu_ns\": %lld, \"children_faults\": %lld, \"threads\": "
      "[1, 2], \"processes\": %zu, "
      "\"system_calls\": {\"preadv\": %d, \"fdatasync\": %d}, \"uprobe\": 20, "
      "\"usdt\": 20, \"forks\": %zu",
      static_cast<long long>(pairs::RusageNs(RUSAGE_CHILDREN)),
      static_cast<long long>(pairs::Faults(RUSAGE_CHILDREN)), 1 + storms.size(),
      kReads, kSyncs, storms.size());
  pairs::Print(truths, life, 1, more);
  return 0;
}
