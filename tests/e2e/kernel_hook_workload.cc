// A program whose system calls, page faults and calls of one function are
// known: kernel_hook_workload CALLS SYSCALLS PAGES. In each call of
// `kernel_hook_step` it makes SYSCALLS times getppid and touches PAGES new
// pages; then it forks once, and the child runs `true`.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "countrace/hooks.h"

namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

extern "C" __attribute__((noinline)) long kernel_hook_step(char* pages,
                                                           long page_count,
                                                           long syscalls) {
  COUNTRACE_SEGMENT("e2e", "step");
  COUNTRACE_HOOK("e2e", "pages", page_count);
  long sum = 0;
  for (long i = 0; i < syscalls; ++i) sum += syscall(SYS_getppid);
  for (long i = 0; i < page_count; ++i) {
    pages[static_cast<std::size_t>(i) * kPage] = 1;
  }
  return sum;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const long calls = std::atol(argv[1]);
  const long syscalls = std::atol(argv[2]);
  const long pages = std::atol(argv[3]);
  const auto bytes = static_cast<std::size_t>(calls * pages) * kPage;
  void* memory = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 3;
  madvise(memory, bytes + kPage, MADV_NOHUGEPAGE);
  long sum = 0;
  for (long i = 0; i < calls; ++i) {
    sum += kernel_hook_step(static_cast<char*>(memory) +
                                static_cast<std::size_t>(i * pages) * kPage,
                            pages, syscalls);
  }
  const pid_t child = fork();
  if (child == 0) {
    execlp("true", "true", nullptr);
    _exit(9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("pid %d child %d sum %ld\n", getpid(), child, sum);
  return WEXITSTATUS(status);
}
