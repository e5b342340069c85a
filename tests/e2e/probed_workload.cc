// Functions that measure themselves: probed_workload CALLS prints the ns of
// each function's calls, from inside, so without the traps of probes on them,
// and how much longer its slow traps took than the usual one: a host may take
// the CPU in them. Names say how their first instruction is treated, and how
// long they spin.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "countrace/hooks.h"

namespace {

std::uint64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// What calls took outside of their function.
struct Traps {
  explicit Traps(int calls) { ns.reserve(static_cast<std::size_t>(calls)); }
  // Sums up those that took more than three times the median.
  std::uint64_t SlowNs() {
    if (ns.empty()) return 0;
    std::sort(ns.begin(), ns.end());
    const std::uint64_t usual = ns[ns.size() / 2];
    std::uint64_t slow = 0;
    for (const std::uint64_t each : ns) {
      if (each > 3 * usual) slow += each - usual;
    }
    return slow;
  }
  std::vector<std::uint64_t> ns;
};

// A call that adds its time inside to `inside_ns`.
template <typename Call>
void Measure(Call call, const std::uint64_t& inside_ns, Traps& traps) {
  const std::uint64_t inside = inside_ns, begin = Now();
  call();
  traps.ns.push_back(Now() - begin - (inside_ns - inside));
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
  struct {
    const char* name;
    void (*call)();
    std::uint64_t& ns;
    Traps traps;
  } functions[] = {
      {"emulated_300", emulated_300, emulated_300_ns, Traps(calls)},
      {"stepped_300", stepped_300, stepped_300_ns, Traps(calls)},
      {"endbr_600", endbr_600, endbr_600_ns, Traps(calls)},
      {"emulated_50000", emulated_50000, emulated_50000_ns, Traps(calls)},
      {"stepped_50000", stepped_50000, stepped_50000_ns, Traps(calls)}};
  std::uint64_t inside_ns = 0;
  Traps around(calls);
  for (int i = 0; i < calls; ++i) {
    Measure(
        [&] {
          COUNTRACE_SEGMENT("probed", "around");
          for (auto& each : functions) {
            const std::uint64_t before = each.ns;
            Measure(each.call, each.ns, each.traps);
            inside_ns += each.ns - before;
          }
        },
        inside_ns, around);
  }
  const auto print = [](const char* name, std::uint64_t ns, Traps& traps) {
    std::printf("%s %llu %llu\n", name, static_cast<unsigned long long>(ns),
                static_cast<unsigned long long>(traps.SlowNs()));
  };
  for (auto& each : functions) print(each.name, each.ns, each.traps);
  print("around", inside_ns, around);
  return 0;
}
