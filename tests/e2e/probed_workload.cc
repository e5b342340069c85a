// Functions that measure themselves: probed_workload CALLS prints the calls and
// the ns of each, from inside, so without the traps of probes on them. Names
// say how their first instruction is treated, and how long they spin.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "countrace/hooks.h"

namespace {

std::uint64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

// A function of assembler that begins with INSTRUCTION and jumps to one that
// spins, and adds its time to a sum.
#ifdef __x86_64__
#define FUNCTION(NAME, INSTRUCTION, NS)                             \
  static std::uint64_t NAME##_ns;                                   \
  extern "C" __attribute__((noinline, used)) void NAME##_body() {   \
    const std::uint64_t begin = Now();                              \
    std::uint64_t end = begin;                                      \
    while (end - begin < (NS)) end = Now();                         \
    NAME##_ns += end - begin;                                       \
  }                                                                 \
  asm(".text\n.globl " #NAME "\n.type " #NAME ", @function\n" #NAME \
      ":\n\t" INSTRUCTION "\n\tjmp " #NAME "_body\n.size " #NAME    \
      ", .-" #NAME);                                                \
  extern "C" void NAME()
#else
#define FUNCTION(NAME, INSTRUCTION, NS)                    \
  static std::uint64_t NAME##_ns;                          \
  extern "C" __attribute__((noinline, used)) void NAME() { \
    const std::uint64_t begin = Now();                     \
    std::uint64_t end = begin;                             \
    while (end - begin < (NS)) end = Now();                \
    NAME##_ns += end - begin;                              \
  }
#endif

FUNCTION(emulated_300, "push %rax\n\tpop %rax", 300);
FUNCTION(stepped_300, "xor %eax, %eax", 300);
FUNCTION(endbr_600, "endbr64", 600);
FUNCTION(emulated_50000, "nop", 50'000);
FUNCTION(stepped_50000, "lea 8(%rsp), %rax", 50'000);

int main(int, char** argv) {
  const int calls = std::atoi(argv[1]);
  const std::uint64_t begin = Now();
  std::uint64_t around_ns = 0;
  for (int i = 0; i < calls; ++i) {
    COUNTRACE_SEGMENT("probed", "around");
    const std::uint64_t inside = Now();
    emulated_300();
    stepped_300();
    endbr_600();
    emulated_50000();
    stepped_50000();
    around_ns += Now() - inside;
  }
  const std::uint64_t all_ns = Now() - begin;
  const struct {
    const char* name;
    std::uint64_t ns;
  } sums[] = {{"emulated_300", emulated_300_ns},
              {"stepped_300", stepped_300_ns},
              {"endbr_600", endbr_600_ns},
              {"emulated_50000", emulated_50000_ns},
              {"stepped_50000", stepped_50000_ns},
              {"around", around_ns},
              {"all", all_ns}};
  for (const auto& sum : sums) {
    std::printf("%s %llu\n", sum.name, static_cast<unsigned long long>(sum.ns));
  }
  return 0;
}
