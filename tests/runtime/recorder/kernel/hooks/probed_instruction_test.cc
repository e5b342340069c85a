#include "runtime/recorder/kernel/hooks/probed_instruction.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace countrace::runtime {
namespace {

#ifdef __x86_64__
using Code = std::vector<std::uint8_t>;
using enum ProbedInstruction;

TEST_CASE("probed instruction: each kind that the kernel treats apart") {
  const std::pair<Code, ProbedInstruction> cases[] = {
      {{0x90}, kNop},
      {{0xeb, 0x02}, kNop},              // jmp
      {{0xe9, 1, 2, 3, 4}, kNop},        // jmp
      {{0x74, 0x10}, kNop},              // je
      {{0x0f, 0x85, 1, 2, 3, 4}, kNop},  // jne
      {{0x0f, 0x1f, 0x44, 0x00, 0x00}, kNop5},
      {{0x0f, 0x1f, 0x40, 0x00}, kLongNop},
      {{0x66, 0x90}, kLongNop},
      {{0x66, 0x0f, 0x1f, 0x44, 0, 0}, kLongNop},
      {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0}, kLongNop},
      {{0x55}, kPush},              // push %rbp
      {{0x41, 0x57}, kPush},        // push %r15
      {{0xe8, 1, 2, 3, 4}, kPush},  // call
      {{0xf3, 0x0f, 0x1e, 0xfa}, kEndbr},
      {{0x5d}, kOther},                    // pop %rbp
      {{0x41, 0x89, 0xd0}, kOther},        // mov %edx, %r8d
      {{0x48, 0x83, 0xec, 0x08}, kOther},  // sub $8, %rsp
      {{0x31, 0xc0}, kOther},              // xor %eax, %eax
      {{0x0f, 0xb6, 0x07}, kOther},        // movzbl
      {{}, kOther},
  };
  for (const auto& [code, kind] : cases) {
    CAPTURE(code);
    CHECK(KindOfInstruction(code) == kind);
  }
}

TEST_CASE("probed instruction: the kernel takes some for jumps") {
  const std::pair<Code, bool> cases[] = {
      {{0xc5, 0xf8, 0x77}, true},                    // vzeroupper
      {{0xc4, 0xe2, 0x79, 0x78, 0xce}, true},        // vpbroadcastb
      {{0x62, 0xe2, 0x7d, 0x48, 0x7a, 0xc6}, true},  // the same, EVEX
      {{0xc5, 0xf9, 0xeb, 0xc1}, true},              // vpor
      {{0xc5, 0xf8, 0x90, 0xc8}, true},              // kmovw
      {{0x8f, 0xe8, 0x78, 0x90, 0xc0, 0x00}, true},  // XOP: vprotb
      {{0xc5, 0xf8, 0x57, 0xc0}, false},             // vxorps
      {{0xc5, 0xfa, 0x10, 0x07}, false},             // vmovss
      {{0x8f, 0x00}, false},                         // pop (%rax)
      {{0x78, 0x10}, false},                         // js
      {{0x66, 0x0f, 0x7e, 0xc0}, false},             // movd
      {{0xc5, 0xf8}, false},
      {{}, false},
  };
  for (const auto& [code, is_taken] : cases) {
    CAPTURE(code);
    CHECK(IsTakenForAJump(code) == is_taken);
  }
}

TEST_CASE("probed instruction: it is read from the file") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("countrace-probed-" + std::to_string(getpid()));
  std::ofstream(path) << "x\x0f\x1f\x44" << std::string(2, '\0') << "\x55";
  CHECK(InstructionAt(path, 1) == kNop5);
  CHECK(InstructionAt(path, 6) == kPush);
  CHECK(InstructionAt(path, 100) == kOther);
  std::filesystem::remove(path);
  CHECK(InstructionAt(path, 1) == kOther);
}
#endif

}  // namespace
}  // namespace countrace::runtime
