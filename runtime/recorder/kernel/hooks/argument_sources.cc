#include "runtime/recorder/kernel/hooks/argument_sources.h"

#include <asm/ptrace.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/quantity_parse.h"
#include "runtime/recorder/system/tracepoint_format.h"

namespace countrace::runtime {
namespace {

using Source = countrace_value_source;
using Sources = countrace_argument_sources;

constexpr std::size_t kArguments = std::size(Sources{}.arguments);

Source Register(std::size_t offset, unsigned bytes = 8, bool is_signed = true) {
  Source source{};
  source.place = COUNTRACE_VALUE_HANDED;
  source.bytes = static_cast<unsigned char>(bytes);
  source.is_signed = is_signed ? 1 : 0;
  source.offset = static_cast<unsigned short>(offset);
  source.index_offset = COUNTRACE_NO_INDEX;
  return source;
}

// A code address plus `added`.
Source Address(std::size_t offset, long long added = 0) {
  Source source = Register(offset, 8, false);
  source.displacement = added;
  return source;
}

std::optional<long long> Integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  const auto value = base::ParseInteger(text, hexadecimal ? 16 : 10);
  if (!value) return std::nullopt;
  return static_cast<long long>(negative ? ~*value + 1 : *value);
}

// Registers at a probe have the layout of pt_regs, which is part of the
// kernel's interface (bpf_perf_event_data, ptrace).
#if defined(__x86_64__)

struct NamedRegister {
  std::string_view names[4];  // of 8, 4, 2 and 1 bytes
  std::size_t offset;
};
constexpr NamedRegister kRegisters[] = {
    {{"rax", "eax", "ax", "al"}, offsetof(pt_regs, rax)},
    {{"rbx", "ebx", "bx", "bl"}, offsetof(pt_regs, rbx)},
    {{"rcx", "ecx", "cx", "cl"}, offsetof(pt_regs, rcx)},
    {{"rdx", "edx", "dx", "dl"}, offsetof(pt_regs, rdx)},
    {{"rsi", "esi", "si", "sil"}, offsetof(pt_regs, rsi)},
    {{"rdi", "edi", "di", "dil"}, offsetof(pt_regs, rdi)},
    {{"rbp", "ebp", "bp", "bpl"}, offsetof(pt_regs, rbp)},
    {{"rsp", "esp", "sp", "spl"}, offsetof(pt_regs, rsp)},
    {{"r8", "r8d", "r8w", "r8b"}, offsetof(pt_regs, r8)},
    {{"r9", "r9d", "r9w", "r9b"}, offsetof(pt_regs, r9)},
    {{"r10", "r10d", "r10w", "r10b"}, offsetof(pt_regs, r10)},
    {{"r11", "r11d", "r11w", "r11b"}, offsetof(pt_regs, r11)},
    {{"r12", "r12d", "r12w", "r12b"}, offsetof(pt_regs, r12)},
    {{"r13", "r13d", "r13w", "r13b"}, offsetof(pt_regs, r13)},
    {{"r14", "r14d", "r14w", "r14b"}, offsetof(pt_regs, r14)},
    {{"r15", "r15d", "r15w", "r15b"}, offsetof(pt_regs, r15)}};
constexpr std::size_t kFunctionRegisters[] = {
    offsetof(pt_regs, rdi), offsetof(pt_regs, rsi), offsetof(pt_regs, rdx),
    offsetof(pt_regs, rcx), offsetof(pt_regs, r8),  offsetof(pt_regs, r9)};
constexpr std::size_t kSystemCallRegisters[] = {
    offsetof(pt_regs, rdi), offsetof(pt_regs, rsi), offsetof(pt_regs, rdx),
    offsetof(pt_regs, r10), offsetof(pt_regs, r8),  offsetof(pt_regs, r9)};
constexpr std::size_t kCompatRegisters[] = {
    offsetof(pt_regs, rbx), offsetof(pt_regs, rcx), offsetof(pt_regs, rdx),
    offsetof(pt_regs, rsi), offsetof(pt_regs, rdi), offsetof(pt_regs, rbp)};
constexpr std::size_t kInstruction = offsetof(pt_regs, rip);

// The return address is the word on top of the stack.
Source ReturnAddress() {
  Source source = Address(offsetof(pt_regs, rsp));
  source.place = COUNTRACE_VALUE_IN_MEMORY;
  return source;
}

// "%rax"
std::optional<std::size_t> RegisterOffset(std::string_view text) {
  if (!text.starts_with('%')) return std::nullopt;
  text.remove_prefix(1);
  for (const NamedRegister& known : kRegisters) {
    for (const std::string_view name : known.names) {
      if (text == name) return known.offset;
    }
  }
  return std::nullopt;
}

// "$5", "%eax", "-8(%rbp)", "16(%rax,%rcx,4)"
Source Operand(std::string_view text, Source source) {
  const Source unknown{};
  if (text.starts_with('$')) {
    const auto value = Integer(text.substr(1));
    if (!value) return unknown;
    source.place = COUNTRACE_VALUE_CONSTANT;
    source.displacement = *value;
    return source;
  }
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    const auto offset = RegisterOffset(text);
    if (!offset) return unknown;
    source.place = COUNTRACE_VALUE_HANDED;
    source.offset = static_cast<unsigned short>(*offset);
    return source;
  }
  if (!text.ends_with(')')) return unknown;
  if (open != 0) {
    const auto displacement = Integer(text.substr(0, open));
    if (!displacement) return unknown;  // an address of a symbol
    source.displacement = *displacement;
  }
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const std::string_view base = inside.substr(0, inside.find(','));
  const auto base_offset = RegisterOffset(base);
  if (!base_offset) return unknown;
  source.place = COUNTRACE_VALUE_IN_MEMORY;
  source.offset = static_cast<unsigned short>(*base_offset);
  if (base.size() == inside.size()) return source;
  inside.remove_prefix(base.size() + 1);
  const std::string_view index = inside.substr(0, inside.find(','));
  const auto index_offset = RegisterOffset(index);
  if (!index_offset) return unknown;
  source.index_offset = static_cast<unsigned short>(*index_offset);
  if (index.size() == inside.size()) return source;
  constexpr std::string_view kScales[] = {"1", "2", "4", "8"};
  for (unsigned shift = 0; shift < std::size(kScales); ++shift) {
    if (inside.substr(index.size() + 1) != kScales[shift]) continue;
    source.index_shift = static_cast<unsigned char>(shift);
    return source;
  }
  return unknown;
}

#elif defined(__aarch64__)

constexpr std::size_t GeneralRegister(std::size_t number) {
  return offsetof(user_pt_regs, regs) + 8 * number;
}
constexpr std::size_t kFunctionRegisters[] = {
    GeneralRegister(0), GeneralRegister(1), GeneralRegister(2),
    GeneralRegister(3), GeneralRegister(4), GeneralRegister(5)};
constexpr auto& kSystemCallRegisters = kFunctionRegisters;
constexpr auto& kCompatRegisters = kFunctionRegisters;
constexpr std::size_t kInstruction = offsetof(user_pt_regs, pc);

Source ReturnAddress() { return Address(GeneralRegister(30)); }

// "x0", "w0", "sp"
std::optional<std::size_t> RegisterOffset(std::string_view text) {
  if (text == "sp") return offsetof(user_pt_regs, sp);
  if (!text.starts_with('x') && !text.starts_with('w')) return std::nullopt;
  const auto number = Integer(text.substr(1));
  if (!number || *number < 0 || *number > 30) return std::nullopt;
  return GeneralRegister(static_cast<std::size_t>(*number));
}

// "5", "x0", "[sp]", "[sp, 16]"
Source Operand(std::string_view text, Source source) {
  const Source unknown{};
  if (const auto value = Integer(text)) {
    source.place = COUNTRACE_VALUE_CONSTANT;
    source.displacement = *value;
    return source;
  }
  source.place = COUNTRACE_VALUE_HANDED;
  if (text.starts_with('[') && text.ends_with(']')) {
    source.place = COUNTRACE_VALUE_IN_MEMORY;
    text = text.substr(1, text.size() - 2);
    const std::size_t comma = text.find(',');
    if (comma != std::string_view::npos) {
      const std::size_t at = text.find_first_not_of(' ', comma + 1);
      if (at == std::string_view::npos) return unknown;
      const auto displacement = Integer(text.substr(at));
      if (!displacement) return unknown;
      source.displacement = *displacement;
      text = text.substr(0, comma);
    }
  }
  const auto offset = RegisterOffset(text);
  if (!offset) return unknown;
  source.offset = static_cast<unsigned short>(*offset);
  return source;
}

#elif defined(__powerpc64__)

constexpr std::size_t GeneralRegister(std::size_t number) {
  return offsetof(pt_regs, gpr) + 8 * number;
}
constexpr std::size_t kFunctionRegisters[] = {
    GeneralRegister(3), GeneralRegister(4), GeneralRegister(5),
    GeneralRegister(6), GeneralRegister(7), GeneralRegister(8)};
constexpr auto& kSystemCallRegisters = kFunctionRegisters;
constexpr auto& kCompatRegisters = kFunctionRegisters;
constexpr std::size_t kInstruction = offsetof(pt_regs, nip);

Source ReturnAddress() { return Address(offsetof(pt_regs, link)); }

// On this architecture a number may be a register or a constant.
Source Operand(std::string_view, Source) { return Source{}; }

#endif

Sources InRegisters(const std::size_t (&offsets)[kArguments], unsigned bytes) {
  Sources sources{};
  for (std::size_t i = 0; i < kArguments; ++i) {
    sources.arguments[i] = Register(offsets[i], bytes);
  }
  return sources;
}

}  // namespace

Sources FunctionSources() {
  Sources sources = InRegisters(kFunctionRegisters, 8);
  sources.caller = ReturnAddress();
  return sources;
}

Sources KernelFunctionSources() {
  Sources sources{};
  for (unsigned short i = 0; i < COUNTRACE_FUNCTION_ARGUMENTS; ++i) {
    sources.arguments[i] = Address(8 * i);
  }
  return sources;
}

Sources SystemCallSources(bool compat) {
  Sources sources = compat ? InRegisters(kCompatRegisters, 4)
                           : InRegisters(kSystemCallRegisters, 8);
  sources.caller = Address(kInstruction);
  return sources;
}

Sources FaultSources() {
  Sources sources{};
  sources.arguments[0] = Address(0);
  sources.arguments[1] = Address(16);
  return sources;
}

std::vector<std::string> SplitUsdtArguments(const std::string& arguments) {
  std::vector<std::string> parts;
  bool inside = false;
  bool begins = true;
  for (const char c : arguments) {
    if (c == '[' || c == '(') inside = true;
    if (c == ']' || c == ')') inside = false;
    if (c == ' ' && !inside) {
      begins = true;
      continue;
    }
    if (std::exchange(begins, false)) parts.emplace_back();
    parts.back() += c;
  }
  return parts;
}

Sources UsdtSources(const std::string& arguments) {
  Sources sources{};
  // The probe's own address.
  sources.caller = Address(kInstruction, 1);
  const std::vector<std::string> parts = SplitUsdtArguments(arguments);
  for (std::size_t i = 0; i < parts.size() && i < kArguments; ++i) {
    const std::string_view part = parts[i];
    const std::size_t at = part.find('@');
    if (at == std::string_view::npos) continue;
    const auto size = Integer(part.substr(0, at));
    if (!size) continue;  // "8f": floating point
    const long long bytes = *size < 0 ? -*size : *size;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) continue;
    Source source{};
    source.bytes = static_cast<unsigned char>(bytes);
    source.is_signed = *size < 0 ? 1 : 0;
    source.index_offset = COUNTRACE_NO_INDEX;
    sources.arguments[i] = Operand(part.substr(at + 1), source);
  }
  return sources;
}

Sources TracepointSources(const std::string& format) {
  Sources sources{};
  const auto fields = ParseTracepointFormat(format);
  if (!fields.ok()) return sources;
  std::size_t count = 0;
  for (const TracepointField& field : *fields) {
    if (field.name.starts_with("common_")) continue;
    if (count == kArguments) break;
    Source& source = sources.arguments[count++];
    const bool is_number = field.size == 1 || field.size == 2 ||
                           field.size == 4 || field.size == 8;
    if (is_number && field.offset <= 0xffff) {
      source = Register(field.offset, field.size, field.is_signed);
    }
  }
  return sources;
}

}  // namespace countrace::runtime
