// A program to attach to: attached_program FILE. Until its standard input ends
// it runs `attached_step`, which has a USDT probe `attached:tick`, and keeps in
// FILE how often it did and how many listen to the probe (its semaphore).
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "countrace/hook_site.h"
#include "countrace/usdt.h"

namespace {

struct Progress {
  std::uint64_t steps, listeners;
};

// Not a hook: only the kernel listens here.
countrace_gate g_gate;

}  // namespace

extern "C" __attribute__((noinline)) void attached_step() {
  COUNTRACE_DETAIL_USDT("attached", "tick", &g_gate);
  syscall(SYS_getppid);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int file = open(argv[1], O_RDWR | O_CREAT, 0666);
  if (file < 0 || ftruncate(file, sizeof(Progress)) != 0) return 3;
  void* const memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                            MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return 3;
  auto* const progress = static_cast<volatile Progress*>(memory);
  const volatile countrace_gate& gate = g_gate;
  for (;;) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    // One millisecond: runs often enough to be recorded, and leaves two cores
    // idle time.
    if (poll(&input, 1, 1) > 0) return 0;
    for (int i = 0; i < 10; ++i) attached_step();
    progress->steps = progress->steps + 10;
    progress->listeners = gate.part.usdt_semaphore;
  }
}
