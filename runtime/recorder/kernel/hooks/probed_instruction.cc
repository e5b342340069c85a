#include "runtime/recorder/kernel/hooks/probed_instruction.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/posix/scoped_fd.h"

namespace countrace::runtime {
namespace {

bool BeginsWith(std::span<const std::uint8_t> code,
                std::initializer_list<std::uint8_t> bytes) {
  return code.size() >= bytes.size() &&
         std::equal(bytes.begin(), bytes.end(), code.begin());
}

}  // namespace

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

ProbedInstruction InstructionAt(const std::string& file, std::uint64_t offset) {
  const base::ScopedFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<std::uint8_t, 8> code{};
  const ssize_t bytes = fd.is_open() ? pread(fd.get(), code.data(), code.size(),
                                             static_cast<off_t>(offset))
                                     : -1;
  if (bytes <= 0) return ProbedInstruction::kOther;
  return KindOfInstruction(
      std::span(code).first(static_cast<std::size_t>(bytes)));
}

}  // namespace countrace::runtime
