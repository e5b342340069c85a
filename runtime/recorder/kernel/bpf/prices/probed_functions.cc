#include "runtime/recorder/kernel/bpf/prices/probed_functions.h"

#include <link.h>

#include <cstddef>

namespace countrace::runtime {

#ifdef __x86_64__
// Written in assembler, since a compiler chooses the first instruction.
#define COUNTRACE_PROBED_FUNCTION(NAME, CODE)                            \
  extern "C" __attribute__((visibility("hidden"))) void NAME(void);      \
  asm(".pushsection .text\n.balign 16\n.globl " #NAME "\n.hidden " #NAME \
      "\n.type " #NAME ", @function\n" #NAME ":\n" CODE                  \
      "\n\tret\n.size " #NAME ", .-" #NAME "\n.popsection")
#define COUNTRACE_PROBED_FUNCTIONS(KIND, CODE)                   \
  COUNTRACE_PROBED_FUNCTION(countrace_probed_call_##KIND, CODE); \
  COUNTRACE_PROBED_FUNCTION(countrace_probed_hit_##KIND, CODE)

COUNTRACE_PROBED_FUNCTIONS(nop, ".byte 0x90");
COUNTRACE_PROBED_FUNCTIONS(nop5, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
COUNTRACE_PROBED_FUNCTIONS(long_nop, ".byte 0x0f, 0x1f, 0x40, 0x00");
COUNTRACE_PROBED_FUNCTIONS(push, "push %rbp\n\tpop %rbp");
COUNTRACE_PROBED_FUNCTIONS(endbr, ".byte 0xf3, 0x0f, 0x1e, 0xfa");
COUNTRACE_PROBED_FUNCTIONS(other, "xor %eax, %eax");

ProbedFunction FunctionWith(ProbedInstruction first, bool returns) {
  // By ProbedInstruction.
  static constexpr ProbedFunction kFunctions[kProbedInstructions][2] = {
      {countrace_probed_hit_nop, countrace_probed_call_nop},
      {countrace_probed_hit_nop5, countrace_probed_call_nop5},
      {countrace_probed_hit_long_nop, countrace_probed_call_long_nop},
      {countrace_probed_hit_push, countrace_probed_call_push},
      {countrace_probed_hit_endbr, countrace_probed_call_endbr},
      {countrace_probed_hit_other, countrace_probed_call_other}};
  return kFunctions[static_cast<std::size_t>(first)][returns ? 1 : 0];
}
#else
ProbedFunction FunctionWith(ProbedInstruction, bool) { return nullptr; }
#endif

namespace {

struct Search {
  std::uint64_t address;
  std::optional<std::uint64_t> offset = std::nullopt;
};

int FindIn(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uint64_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && search.address >= begin &&
        search.address - begin < part.p_filesz) {
      search.offset = search.address - begin + part.p_offset;
    }
  }
  return 1;  // the first one is the program itself
}

}  // namespace

std::optional<std::uint64_t> FileOffsetOf(ProbedFunction function) {
  Search search{reinterpret_cast<std::uint64_t>(function)};
  dl_iterate_phdr(FindIn, &search);
  return search.offset;
}

}  // namespace countrace::runtime
