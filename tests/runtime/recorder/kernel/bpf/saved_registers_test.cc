#include "runtime/recorder/kernel/bpf/read/saved_registers.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

#include "base/code/user_registers.h"

#ifdef __x86_64__
#include <asm/perf_regs.h>
#include <asm/ptrace.h>

#include <bit>
#include <cstdint>

namespace countrace::runtime {
namespace {

pt_regs Saved() {
  pt_regs saved{};
  auto* const words = reinterpret_cast<unsigned long*>(&saved);
  for (std::size_t i = 0; i < sizeof(saved) / 8; ++i) words[i] = 1000 + i;
  saved.cs = 0x33;
  return saved;
}

TEST_CASE("saved registers: the order is that of samples") {
  const pt_regs saved = Saved();
  const auto sampled = ToSampledRegisters(std::as_bytes(std::span(&saved, 1)));
  const std::uint64_t mask = base::UserRegisterMask();
  REQUIRE(sampled.size() == static_cast<std::size_t>(std::popcount(mask)));
  const auto at = [&](unsigned number) {
    REQUIRE((mask >> number & 1) == 1);
    const std::uint64_t before = mask & ((std::uint64_t{1} << number) - 1);
    return sampled[static_cast<std::size_t>(std::popcount(before))];
  };
  CHECK(at(PERF_REG_X86_AX) == saved.rax);
  CHECK(at(PERF_REG_X86_BX) == saved.rbx);
  CHECK(at(PERF_REG_X86_CX) == saved.rcx);
  CHECK(at(PERF_REG_X86_DX) == saved.rdx);
  CHECK(at(PERF_REG_X86_SI) == saved.rsi);
  CHECK(at(PERF_REG_X86_DI) == saved.rdi);
  CHECK(at(PERF_REG_X86_BP) == saved.rbp);
  CHECK(at(PERF_REG_X86_SP) == saved.rsp);
  CHECK(at(PERF_REG_X86_IP) == saved.rip);
  CHECK(at(PERF_REG_X86_R8) == saved.r8);
  CHECK(at(PERF_REG_X86_R9) == saved.r9);
  CHECK(at(PERF_REG_X86_R10) == saved.r10);
  CHECK(at(PERF_REG_X86_R11) == saved.r11);
  CHECK(at(PERF_REG_X86_R12) == saved.r12);
  CHECK(at(PERF_REG_X86_R13) == saved.r13);
  CHECK(at(PERF_REG_X86_R14) == saved.r14);
  CHECK(at(PERF_REG_X86_R15) == saved.r15);
}

TEST_CASE("saved registers: none without 64-bit user code") {
  pt_regs saved = Saved();
  const auto bytes = std::as_bytes(std::span(&saved, 1));
  CHECK(ToSampledRegisters(bytes.first(bytes.size() - 8)).empty());
  CHECK(ToSampledRegisters({}).empty());
  saved.cs = 0x23;  // of a 32-bit program
  CHECK(ToSampledRegisters(bytes).empty());
  saved = Saved();
  saved.rsp = 0;  // a thread of the kernel's
  CHECK(ToSampledRegisters(bytes).empty());
}

}  // namespace
}  // namespace countrace::runtime

#endif
