#include "rmap/code/disassembly.h"

#include <capstone/capstone.h>
#include <elf.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/code/instruction_class.h"

namespace countrace::rmap {
namespace {

struct InstructionFree {
  void operator()(cs_insn* one) const { cs_free(one, 1); }
};

struct Machine {
  unsigned elf;
  cs_arch arch;
  int mode;
};

// Those that countrace records on.
constexpr Machine kMachines[] = {
    {EM_X86_64, CS_ARCH_X86, CS_MODE_64},
    {EM_386, CS_ARCH_X86, CS_MODE_32},
    {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
    {EM_PPC64, CS_ARCH_PPC, CS_MODE_64 | CS_MODE_LITTLE_ENDIAN}};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() {
    if (is_open_) cs_close(&handle_);
  }
  // `syntax`: of x86.
  bool Open(unsigned machine, cs_opt_value syntax) {
    const auto known = std::find_if(
        std::begin(kMachines), std::end(kMachines),
        [machine](const Machine& one) { return one.elf == machine; });
    if (known == std::end(kMachines)) return false;
    arch_ = known->arch;
    is_open_ = cs_open(arch_, static_cast<cs_mode>(known->mode), &handle_) ==
               CS_ERR_OK;
    return is_open_ &&
           cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK &&
           (!is_x86() ||
            cs_option(handle_, CS_OPT_SYNTAX, syntax) == CS_ERR_OK);
  }
  csh handle() const { return handle_; }
  cs_arch arch() const { return arch_; }
  // What an instruction jumps to, or has relative to itself.
  std::optional<std::uint64_t> TargetOf(const cs_insn& one) const {
    const bool jumps = cs_insn_group(handle_, &one, CS_GRP_JUMP) ||
                       cs_insn_group(handle_, &one, CS_GRP_CALL);
    if (is_x86()) {
      const cs_x86& x86 = one.detail->x86;
      for (int i = 0; i < x86.op_count; ++i) {
        const cs_x86_op& operand = x86.operands[i];
        if (jumps && operand.type == X86_OP_IMM) {
          return static_cast<std::uint64_t>(operand.imm);
        }
        if (operand.type == X86_OP_MEM && operand.mem.base == X86_REG_RIP) {
          return one.address + one.size +
                 static_cast<std::uint64_t>(operand.mem.disp);
        }
      }
      return std::nullopt;
    }
    // libcapstone puts no instruction of POWER into a group.
    if (arch_ == CS_ARCH_PPC) {
      return one.mnemonic[0] == 'b' ? FirstOf(one.detail->ppc, PPC_OP_IMM)
                                    : std::nullopt;
    }
    return !jumps ? std::nullopt : FirstOf(one.detail->arm64, ARM64_OP_IMM);
  }
  bool is_x86() const { return arch_ == CS_ARCH_X86; }

 private:
  template <typename Detail, typename Kind>
  static std::optional<std::uint64_t> FirstOf(const Detail& detail, Kind kind) {
    for (int i = 0; i < detail.op_count; ++i) {
      if (detail.operands[i].type == kind) {
        return static_cast<std::uint64_t>(detail.operands[i].imm);
      }
    }
    return std::nullopt;
  }

  csh handle_ = 0;
  cs_arch arch_ = CS_ARCH_X86;
  bool is_open_ = false;
};

absl::Status NoEngine(unsigned machine) {
  return absl::UnavailableError(absl::StrFormat(
      "libcapstone has no disassembler for machine %d here", machine));
}

// "call   0x1139 <main>".
std::string TextOf(const Engine& engine, const cs_insn& one,
                   const NameAddress& name) {
  const std::string operands(one.op_str);
  std::string text(one.mnemonic);
  if (!operands.empty()) text = absl::StrFormat("%-6s %s", text, operands);
  const auto target = engine.TargetOf(one);
  if (!target) return text;
  // "0x2ee2(%rip)" does not show where that is.
  if (operands.find("(%rip)") != std::string::npos) {
    absl::StrAppendFormat(&text, "  # 0x%x", *target);
  }
  const std::string symbol = name(*target);
  return symbol.empty() ? text : text + " " + symbol;
}

}  // namespace

absl::StatusOr<std::vector<Instruction>> Disassemble(
    std::span<const unsigned char> code, std::uint64_t address,
    unsigned machine, const NameAddress& name) {
  Engine engine;
  if (!engine.Open(machine, CS_OPT_SYNTAX_ATT)) return NoEngine(machine);
  const std::unique_ptr<cs_insn, InstructionFree> one(
      cs_malloc(engine.handle()));
  std::vector<Instruction> instructions;
  const std::uint8_t* at = code.data();
  std::size_t left = code.size();
  while (left > 0) {
    const std::uint64_t begin = address;
    if (cs_disasm_iter(engine.handle(), &at, &left, &address, one.get())) {
      instructions.push_back({begin, TextOf(engine, *one, name)});
      continue;
    }
    const std::size_t skipped =
        engine.is_x86() ? 1 : std::min<std::size_t>(4, left);
    instructions.push_back({begin, "(bad)"});
    at += skipped;
    left -= skipped;
    address += skipped;
  }
  return instructions;
}

absl::StatusOr<Mnemonic> MnemonicOf(std::span<const unsigned char> code,
                                    unsigned machine) {
  Engine engine;
  if (!engine.Open(machine, CS_OPT_SYNTAX_INTEL)) return NoEngine(machine);
  const std::unique_ptr<cs_insn, InstructionFree> one(
      cs_malloc(engine.handle()));
  const std::uint8_t* at = code.data();
  std::size_t left = code.size();
  std::uint64_t address = 0;
  if (!cs_disasm_iter(engine.handle(), &at, &left, &address, one.get())) {
    return Mnemonic{"(bad)", "bad"};
  }
  return Mnemonic{one->mnemonic, ClassOf(engine.handle(), engine.arch(), *one)};
}

}  // namespace countrace::rmap
