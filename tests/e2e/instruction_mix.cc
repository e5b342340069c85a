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
#if defined(__x86_64__)
  __asm__ volatile(
      "1:\n"
      ".rept 100\n"
      "add $5, %[value]\n"
      "xor $3, %[value]\n"
      "add $7, %[value]\n"
      "sub $9, %[value]\n"
      "xor $6, %[value]\n"
      "add $1, %[value]\n"
      "add $4, %[value]\n"
      "xor $8, %[value]\n"
      "sub $2, %[value]\n"
      "add $3, %[value]\n"
      ".endr\n"
      "dec %[loops]\n"
      "jnz 1b\n"
      : [value] "+r"(value), [loops] "+r"(loops)::"cc");
#elif defined(__aarch64__)
  __asm__ volatile(
      "1:\n"
      ".rept 100\n"
      "add %[value], %[value], #5\n"
      "eor %[value], %[value], #3\n"
      "add %[value], %[value], #7\n"
      "sub %[value], %[value], #9\n"
      "eor %[value], %[value], #6\n"
      "add %[value], %[value], #1\n"
      "add %[value], %[value], #4\n"
      "eor %[value], %[value], #8\n"
      "sub %[value], %[value], #2\n"
      "add %[value], %[value], #3\n"
      ".endr\n"
      "subs %[loops], %[loops], #1\n"
      "b.ne 1b\n"
      : [value] "+r"(value), [loops] "+r"(loops)::"cc");
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
