// LeavingInstructions() with libcapstone, for x86-64.
#include <capstone/capstone.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "runtime/recorder/kernel/hooks/function_exits.h"

namespace countrace::runtime {

#ifdef __x86_64__
namespace {

bool IsInside(std::uint64_t offset, std::span<const FunctionPart> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const FunctionPart& part) {
    return offset >= part.offset && offset - part.offset < part.code.size();
  });
}

class Walk {
 public:
  explicit Walk(std::span<const FunctionPart> parts) : parts_(parts) {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &engine_) != CS_ERR_OK) return;
    cs_option(engine_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(engine_);
    known_ = instruction_ != nullptr &&
             std::all_of(
                 parts.begin(), parts.end(),
                 [this](const FunctionPart& part) { return Follow(part); }) &&
             // Else the bytes in between were data.
             std::includes(begins_.begin(), begins_.end(), targets_.begin(),
                           targets_.end());
  }
  ~Walk() {
    if (instruction_ != nullptr) cs_free(instruction_, 1);
    if (engine_ != 0) cs_close(&engine_);
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  std::optional<std::vector<std::uint64_t>> Leaving() {
    // A call that cannot end needs no probe, but then all of it is a guess.
    if (!known_ || leaving_.empty()) return std::nullopt;
    return std::move(leaving_);
  }

 private:
  bool Follow(const FunctionPart& part) {
    const std::uint8_t* code = part.code.data();
    std::size_t left = part.code.size();
    std::uint64_t offset = part.offset;
    adds_to_ = X86_REG_INVALID;
    while (left != 0) {
      if (!cs_disasm_iter(engine_, &code, &left, &offset, instruction_)) {
        return false;
      }
      begins_.insert(instruction_->address);
      if (!Take()) return false;
    }
    return true;
  }

  bool IsOf(unsigned group) const {
    return cs_insn_group(engine_, instruction_, group);
  }

  // False: it is not known where the code goes from here.
  bool Take() {
    const cs_x86& x86 = instruction_->detail->x86;
    const unsigned added = adds_to_;
    adds_to_ = instruction_->id == X86_INS_ADD && x86.op_count == 2 &&
                       x86.operands[0].type == X86_OP_REG
                   ? x86.operands[0].reg
                   : X86_REG_INVALID;
    if (IsOf(CS_GRP_RET)) {
      leaving_.push_back(instruction_->address);
      return true;
    }
    if (!IsOf(CS_GRP_JUMP) || IsOf(CS_GRP_CALL)) return true;
    if (x86.op_count != 1) return false;
    const cs_x86_op& to = x86.operands[0];
    if (to.type == X86_OP_IMM) {
      return TakeDirect(static_cast<std::uint64_t>(to.imm));
    }
    // Through a table of a `switch`: by index, or by a distance that was added
    // to the table's address. Else through a pointer, into another function.
    if (to.type == X86_OP_MEM) {
      if (to.mem.index != X86_REG_INVALID) return true;
      leaving_.push_back(instruction_->address);
      return true;
    }
    constexpr std::uint8_t kNoTrack = 0x3e;  // of switches, with CET
    return (added != X86_REG_INVALID && added == to.reg) ||
           instruction_->bytes[0] == kNoTrack;
  }

  bool TakeDirect(std::uint64_t target) {
    // The probe at the begin would be hit again.
    if (target == parts_.front().offset) return false;
    if (IsInside(target, parts_)) {
      targets_.insert(target);
      return true;
    }
    leaving_.push_back(instruction_->address);
    return instruction_->id == X86_INS_JMP;
  }

  std::span<const FunctionPart> parts_;
  csh engine_ = 0;
  cs_insn* instruction_ = nullptr;
  bool known_ = false;
  unsigned adds_to_ = X86_REG_INVALID;  // by the instruction before
  std::set<std::uint64_t> begins_, targets_;
  std::vector<std::uint64_t> leaving_;
};

}  // namespace

std::optional<std::vector<std::uint64_t>> LeavingInstructions(
    std::span<const FunctionPart> parts) {
  return Walk(parts).Leaving();
}
#else
std::optional<std::vector<std::uint64_t>> LeavingInstructions(
    std::span<const FunctionPart>) {
  return std::nullopt;
}
#endif

}  // namespace countrace::runtime
