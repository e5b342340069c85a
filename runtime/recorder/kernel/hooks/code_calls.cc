// CallsOf() with libcapstone, for x86-64.
#include <capstone/capstone.h>

#include "runtime/recorder/kernel/hooks/callbacks.h"

namespace countrace::runtime {

#ifdef __x86_64__
namespace {

void Take(csh engine, const cs_insn& instruction, const FunctionPart& part,
          bool added, CodeCalls& calls) {
  const bool is_call = cs_insn_group(engine, &instruction, CS_GRP_CALL);
  if (!is_call && !cs_insn_group(engine, &instruction, CS_GRP_JUMP)) return;
  const cs_x86& x86 = instruction.detail->x86;
  if (x86.op_count != 1) return;  // jumps on a count go a few bytes
  const cs_x86_op& to = x86.operands[0];
  if (to.type == X86_OP_IMM) {
    const auto target = static_cast<std::uint64_t>(to.imm);
    if (target < part.offset || target - part.offset >= part.code.size()) {
      calls.targets.push_back(target);
    }
    return;
  }
  // Jumps of a `switch` go through a table, or to what was added to its
  // address (leaving_instructions.cc).
  constexpr std::uint8_t kNoTrack = 0x3e;
  const bool is_table =
      !is_call &&
      (to.type == X86_OP_MEM ? to.mem.index != X86_REG_INVALID
                             : added || instruction.bytes[0] == kNoTrack);
  calls.through_pointer |= !is_table;
}

}  // namespace

CodeCalls CallsOf(const FunctionPart& part) {
  CodeCalls calls;
  csh engine = 0;
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &engine) != CS_ERR_OK) return calls;
  cs_option(engine, CS_OPT_DETAIL, CS_OPT_ON);
  cs_insn* const instruction = cs_malloc(engine);
  const std::uint8_t* code = part.code.data();
  std::size_t left = part.code.size();
  std::uint64_t offset = part.offset;
  bool added = false;
  calls.is_known = instruction != nullptr;
  while (calls.is_known && left != 0 && !calls.through_pointer) {
    calls.is_known = cs_disasm_iter(engine, &code, &left, &offset, instruction);
    if (!calls.is_known) break;
    Take(engine, *instruction, part, added, calls);
    added = instruction->id == X86_INS_ADD;
  }
  if (instruction != nullptr) cs_free(instruction, 1);
  cs_close(&engine);
  return calls;
}
#else
CodeCalls CallsOf(const FunctionPart&) { return {}; }
#endif

}  // namespace countrace::runtime
