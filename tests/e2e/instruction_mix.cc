// Runs instructions of a known mix, for `report --by instruction`: of ten, five
// add, three xor, two sub. Each needs the result of the one before and takes
// one cycle, so that their part of the time is their part of the instructions.
//
//   instruction_mix MILLIONS
#include <countrace/hooks.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

// The loop's own two instructions, beside 1,000, are not to be noticed. All are
// in the processor's first cache: a wait for the next line of it would be time
// of the instructions that begin lines, and these have another mix.
__attribute__((noinline)) std::uint64_t Mix(
    [[maybe_unused]] std::uint64_t loops) {
  COUNTRACE_SEGMENT("mix", "loop");
  std::uint64_t value = 1;
  // In registers: some processors add a constant without a cycle.
  [[maybe_unused]] const std::uint64_t five = 5, three = 3, nine = 9;
#if defined(__x86_64__)
  __asm__ volatile(
      "1:\n"
      ".rept 100\n"
      "add %[five], %[value]\n"
      "xor %[three], %[value]\n"
      "add %[five], %[value]\n"
      "sub %[nine], %[value]\n"
      "xor %[three], %[value]\n"
      "add %[five], %[value]\n"
      "add %[five], %[value]\n"
      "xor %[three], %[value]\n"
      "sub %[nine], %[value]\n"
      "add %[five], %[value]\n"
      ".endr\n"
      "dec %[loops]\n"
      "jnz 1b\n"
      : [value] "+r"(value), [loops] "+r"(loops)
      : [five] "r"(five), [three] "r"(three), [nine] "r"(nine)
      : "cc");
#elif defined(__aarch64__)
  __asm__ volatile(
      "1:\n"
      ".rept 100\n"
      "add %[value], %[value], %[five]\n"
      "eor %[value], %[value], %[three]\n"
      "add %[value], %[value], %[five]\n"
      "sub %[value], %[value], %[nine]\n"
      "eor %[value], %[value], %[three]\n"
      "add %[value], %[value], %[five]\n"
      "add %[value], %[value], %[five]\n"
      "eor %[value], %[value], %[three]\n"
      "sub %[value], %[value], %[nine]\n"
      "add %[value], %[value], %[five]\n"
      ".endr\n"
      "subs %[loops], %[loops], #1\n"
      "b.ne 1b\n"
      : [value] "+r"(value), [loops] "+r"(loops)
      : [five] "r"(five), [three] "r"(three), [nine] "r"(nine)
      : "cc");
#endif
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::uint64_t millions = std::strtoull(argv[1], nullptr, 10);
  if (millions == 0) return 2;
  std::printf("%llu\n", static_cast<unsigned long long>(Mix(millions * 1000)));
  return 0;
}
