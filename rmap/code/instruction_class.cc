#include "rmap/code/instruction_class.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace countrace::rmap {
namespace {

constexpr char kBranch[] = "branch", kSystem[] = "system", kAtomic[] = "atomic",
               kVector[] = "vector", kStore[] = "store", kLoad[] = "load",
               kInteger[] = "integer";

// Names that begin so; the first that fits.
struct NamesOf {
  std::string_view begin;
  const char* kind;
};

constexpr NamesOf kArm64[] = {
    {"ldx", kAtomic},   {"ldax", kAtomic},  {"stx", kAtomic},
    {"stlx", kAtomic},  {"cas", kAtomic},   {"ldadd", kAtomic},
    {"ldclr", kAtomic}, {"ldset", kAtomic}, {"ldeor", kAtomic},
    {"ldsm", kAtomic},  {"ldum", kAtomic},  {"swp", kAtomic},
    {"ld", kLoad},      {"st", kStore}};

// libcapstone puts no instruction of POWER into a group.
constexpr NamesOf kPower[] = {
    {"sc", kSystem},    {"rfid", kSystem},  {"b", kBranch},
    {"lbarx", kAtomic}, {"lharx", kAtomic}, {"lwarx", kAtomic},
    {"ldarx", kAtomic}, {"stbcx", kAtomic}, {"sthcx", kAtomic},
    {"stwcx", kAtomic}, {"stdcx", kAtomic}, {"stf", kVector},
    {"stx", kVector},   {"stv", kVector},   {"lf", kVector},
    {"lx", kVector},    {"lv", kVector},    {"st", kStore},
    {"li", kInteger},   {"l", kLoad},       {"f", kVector},
    {"v", kVector},     {"xs", kVector},    {"xv", kVector}};

const char* ByName(std::string_view name, std::span<const NamesOf> names) {
  const auto found = std::find_if(
      names.begin(), names.end(),
      [name](const NamesOf& one) { return name.starts_with(one.begin); });
  return found == names.end() ? kInteger : found->kind;
}

bool IsIn(csh engine, const cs_insn& one, std::span<const unsigned> groups) {
  return std::any_of(groups.begin(), groups.end(), [&](unsigned group) {
    return cs_insn_group(engine, &one, group);
  });
}

constexpr unsigned kBranches[] = {CS_GRP_JUMP, CS_GRP_CALL, CS_GRP_RET};
constexpr unsigned kSystems[] = {CS_GRP_INT, CS_GRP_IRET, CS_GRP_PRIVILEGE};
constexpr unsigned kArm64Vectors[] = {ARM64_GRP_NEON, ARM64_GRP_FPARMV8,
                                      ARM64_GRP_CRYPTO};
constexpr unsigned kX86Vectors[] = {
    X86_GRP_3DNOW, X86_GRP_AES,    X86_GRP_AVX,   X86_GRP_AVX2,  X86_GRP_AVX512,
    X86_GRP_FMA,   X86_GRP_FMA4,   X86_GRP_MMX,   X86_GRP_SHA,   X86_GRP_SSE1,
    X86_GRP_SSE2,  X86_GRP_SSE3,   X86_GRP_SSE41, X86_GRP_SSE42, X86_GRP_SSE4A,
    X86_GRP_SSSE3, X86_GRP_PCLMUL, X86_GRP_XOP,   X86_GRP_F16C,  X86_GRP_FPU,
    X86_GRP_BWI,   X86_GRP_DQI,    X86_GRP_VLX,   X86_GRP_CDI,   X86_GRP_ERI};

const char* OfX86(csh engine, const cs_insn& one) {
  constexpr unsigned char kLock = 0xf0;
  const cs_x86& x86 = one.detail->x86;
  if (x86.prefix[0] == kLock) return kAtomic;
  const std::string_view name(one.mnemonic);
  // Of SSE and AVX-512, but of no vector.
  if (name.starts_with("prefetch")) return kLoad;
  if (name == "movnti") return kStore;
  if (name == "lfence" || name == "mfence" || name == "sfence") return kAtomic;
  if (IsIn(engine, one, kX86Vectors)) return kVector;
  if (name.starts_with("push")) return kStore;
  if (name.starts_with("pop") && !name.starts_with("popcnt")) return kLoad;
  // Their operands are addresses, not memory.
  if (one.id == X86_INS_LEA || one.id == X86_INS_NOP) return kInteger;
  const char* kind = kInteger;
  for (const cs_x86_op& operand : std::span(x86.operands).first(x86.op_count)) {
    if (operand.type != X86_OP_MEM) continue;
    // xchg with memory is locked without the prefix.
    if (one.id == X86_INS_XCHG) return kAtomic;
    if ((operand.access & CS_AC_WRITE) != 0) return kStore;
    kind = kLoad;
  }
  return kind;
}

}  // namespace

const char* ClassOf(csh engine, cs_arch arch, const cs_insn& one) {
  const std::string_view name(one.mnemonic);
  if (arch == CS_ARCH_PPC) return ByName(name, kPower);
  if (name.starts_with("syscall") || name.starts_with("sysenter") ||
      name.starts_with("svc") || IsIn(engine, one, kSystems)) {
    return kSystem;
  }
  if (IsIn(engine, one, kBranches)) return kBranch;
  if (arch == CS_ARCH_X86) return OfX86(engine, one);
  if (IsIn(engine, one, kArm64Vectors)) return kVector;
  return ByName(name, kArm64);
}

}  // namespace countrace::rmap
