#include "runtime/recorder/kernel/hooks/probed_instruction.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "base/posix/regular_file.h"

namespace countrace::runtime {

#ifdef __x86_64__
namespace {

bool BeginsWith(std::span<const std::uint8_t> code,
                std::initializer_list<std::uint8_t> bytes) {
  return code.size() >= bytes.size() &&
         std::equal(bytes.begin(), bytes.end(), code.begin());
}

}  // namespace
#endif

ProbedInstruction KindOfInstruction(std::span<const std::uint8_t> code) {
#ifdef __x86_64__
  if (code.empty()) return ProbedInstruction::kOther;
  const std::uint8_t first = code.front();
  if (BeginsWith(code, {0xf3, 0x0f, 0x1e, 0xfa})) {
    return ProbedInstruction::kEndbr;
  }
  if (BeginsWith(code, {0x0f, 0x1f, 0x44, 0x00, 0x00})) {
    return ProbedInstruction::kNop5;
  }
  if (BeginsWith(code, {0x0f, 0x1f}) || BeginsWith(code, {0x66, 0x90}) ||
      BeginsWith(code, {0x66, 0x0f, 0x1f}) ||
      BeginsWith(code, {0x66, 0x2e, 0x0f, 0x1f})) {
    return ProbedInstruction::kLongNop;
  }
  const bool short_jump = (first & 0xf0) == 0x70;
  const bool long_jump =
      first == 0x0f && code.size() > 1 && (code[1] & 0xf0) == 0x80;
  if (first == 0x90 || first == 0xeb || first == 0xe9 || short_jump ||
      long_jump) {
    return ProbedInstruction::kNop;
  }
  // With a prefix: r8 to r15.
  const std::uint8_t push = first == 0x41 && code.size() > 1 ? code[1] : first;
  if (first == 0xe8 || (push & 0xf8) == 0x50) return ProbedInstruction::kPush;
#else
  (void)code;
#endif
  return ProbedInstruction::kOther;
}

bool IsTakenForAJump(std::span<const std::uint8_t> code) {
#ifdef __x86_64__
  constexpr std::uint8_t kVex2 = 0xc5, kVex3 = 0xc4, kEvex = 0x62, kXop = 0x8f;
  if (code.size() < 2) return false;
  // XOP's maps begin at 8: else it is a pop.
  const bool is_xop = code[0] == kXop && (code[1] & 0x1f) >= 8;
  const std::size_t at = code[0] == kVex2             ? 2
                         : code[0] == kVex3 || is_xop ? 3
                         : code[0] == kEvex           ? 4
                                                      : 0;
  if (at == 0 || at >= code.size()) return false;
  const std::uint8_t operation = code[at];
  return (operation & 0xf0) == 0x70 || operation == 0x90 || operation == 0xe8 ||
         operation == 0xe9 || operation == 0xeb;
#else
  (void)code;
  return false;
#endif
}

std::array<std::uint8_t, 8> CodeAt(const std::string& file,
                                   std::uint64_t offset) {
  const auto fd = base::OpenRegularFile(file);
  std::array<std::uint8_t, 8> code{};
  if (!fd.ok() || pread(fd->get(), code.data(), code.size(),
                        static_cast<off_t>(offset)) < 0) {
    return {};
  }
  return code;
}

ProbedInstruction InstructionAt(const std::string& file, std::uint64_t offset) {
  return KindOfInstruction(CodeAt(file, offset));
}

}  // namespace countrace::runtime
