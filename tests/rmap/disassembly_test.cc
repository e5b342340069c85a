#include "rmap/code/disassembly.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace countrace::rmap {
namespace {

struct Case {
  unsigned machine;
  std::vector<unsigned char> code;  // a call of the address 0x1010
  const char* text;
};

TEST_CASE("disassembly: a call has its function's name, on each machine",
          "[rmap][disassembly]") {
  const Case cases[] = {
      {EM_X86_64, {0xe8, 0x0b, 0, 0, 0}, "call"},
      {EM_386, {0xe8, 0x0b, 0, 0, 0}, "call"},
      {EM_AARCH64, {0x04, 0, 0, 0x94}, "bl"},
      {EM_PPC64, {0x11, 0, 0, 0x48}, "bl"},
  };
  for (const Case& one : cases) {
    INFO("machine " << one.machine);
    const auto code = Disassemble(one.code, 0x1000, one.machine,
                                  [](std::uint64_t address) -> std::string {
                                    return address == 0x1010 ? "<callee>" : "";
                                  });
    REQUIRE(code.ok());
    REQUIRE(code->size() == 1);
    CHECK(code->front().address == 0x1000);
    CHECK(code->front().text.starts_with(one.text));
    CHECK(code->front().text.ends_with("<callee>"));
  }
}

TEST_CASE("disassembly: bytes that are no instruction are shown as such",
          "[rmap][disassembly]") {
  const std::vector<unsigned char> code = {0xff, 0xff, 0x90};
  const auto shown = Disassemble(code, 0, EM_X86_64,
                                 [](std::uint64_t) { return std::string(); });
  REQUIRE(shown.ok());
  CHECK(shown->front().text == "(bad)");
  CHECK(shown->back().text == "nop");
  CHECK_FALSE(Disassemble(code, 0, EM_VAX, [](std::uint64_t) {
                return std::string();
              }).ok());
}

TEST_CASE("disassembly: mnemonics, and the class of each",
          "[rmap][disassembly]") {
  struct Named {
    unsigned machine;
    std::vector<unsigned char> code;
    const char *name, *kind;
  };
  const Named cases[] = {
      // add rax, 1; and to memory, locked; from memory; xchg with memory, with
      // a register
      {EM_X86_64, {0x48, 0x83, 0xc0, 1}, "add", "integer"},
      {EM_X86_64, {0x48, 0x83, 0, 1}, "add", "store"},
      {EM_X86_64, {0xf0, 0x48, 0x83, 0, 1}, "lock add", "atomic"},
      {EM_X86_64, {0x48, 0x03, 0x03}, "add", "load"},
      {EM_X86_64, {0x48, 0x87, 0x03}, "xchg", "atomic"},
      {EM_X86_64, {0x48, 0x87, 0xc3}, "xchg", "integer"},
      {EM_X86_64, {0x48, 0x8b, 0x07}, "mov", "load"},
      {EM_X86_64, {0x48, 0x89, 0x07}, "mov", "store"},
      {EM_X86_64, {0x48, 0x39, 0x07}, "cmp", "load"},
      {EM_X86_64, {0x48, 0x8d, 0x47, 8}, "lea", "integer"},
      {EM_X86_64, {0x0f, 0x1f, 0x40, 0}, "nop", "integer"},
      {EM_X86_64, {0x55}, "push", "store"},
      {EM_X86_64, {0x5d}, "pop", "load"},
      {EM_X86_64, {0xf3, 0x48, 0x0f, 0xb8, 0xc3}, "popcnt", "integer"},
      {EM_X86_64, {0xf3, 0xa4}, "rep movsb", "store"},
      {EM_X86_64, {0x0f, 0x28, 0x07}, "movaps", "vector"},
      {EM_X86_64, {0xc5, 0xfd, 0xfe, 0xc1}, "vpaddd", "vector"},
      {EM_X86_64, {0xd9, 0xee}, "fldz", "vector"},
      {EM_X86_64, {0x62, 0xf1, 0x7d, 0x48, 0xfd, 0xc1}, "vpaddw", "vector"},
      {EM_X86_64, {0x0f, 0x18, 0x0f}, "prefetcht0", "load"},
      {EM_X86_64, {0x0f, 0xae, 0xf0}, "mfence", "atomic"},
      {EM_X86_64, {0x0f, 0xc3, 0x07}, "movnti", "store"},
      {EM_X86_64, {0x75, 0xfe}, "jne", "branch"},
      {EM_X86_64, {0xff, 0x10}, "call", "branch"},
      {EM_X86_64, {0xc3}, "ret", "branch"},
      {EM_X86_64, {0x0f, 0x05}, "syscall", "system"},
      {EM_X86_64, {0x0f, 0x01, 0xf9}, "rdtscp", "system"},
      {EM_X86_64, {0x06}, "(bad)", "bad"},
      {EM_X86_64, {0x48}, "(bad)", "bad"},  // cut
      {EM_AARCH64, {0x20, 0x00, 0x02, 0x8b}, "add", "integer"},
      {EM_AARCH64, {0x20, 0x00, 0x40, 0xf9}, "ldr", "load"},
      {EM_AARCH64, {0x20, 0x00, 0x00, 0xf9}, "str", "store"},
      {EM_AARCH64, {0x20, 0x7c, 0x5f, 0xc8}, "ldxr", "atomic"},
      {EM_AARCH64, {0x20, 0x28, 0x62, 0x1e}, "fadd", "vector"},
      {EM_AARCH64, {0xc0, 0x03, 0x5f, 0xd6}, "ret", "branch"},
      {EM_AARCH64, {0x01, 0x00, 0x00, 0xd4}, "svc", "system"},
      {EM_PPC64, {0x14, 0x22, 0x63, 0x7c}, "add", "integer"},
      {EM_PPC64, {0x01, 0x00, 0x60, 0x38}, "li", "integer"},
      {EM_PPC64, {0x00, 0x00, 0x64, 0xe8}, "ld", "load"},
      {EM_PPC64, {0x00, 0x00, 0x64, 0xf8}, "std", "store"},
      {EM_PPC64, {0x28, 0x20, 0x60, 0x7c}, "lwarx", "atomic"},
      {EM_PPC64, {0x2a, 0x10, 0x21, 0xfc}, "fadd", "vector"},
      {EM_PPC64, {0x00, 0x00, 0x24, 0xc8}, "lfd", "vector"},
      {EM_PPC64, {0x20, 0x00, 0x80, 0x4e}, "blr", "branch"},
      {EM_PPC64, {0x02, 0x00, 0x00, 0x44}, "sc", "system"},
  };
  for (const Named& one : cases) {
    INFO(one.machine << ": " << one.name << " " << one.kind);
    const auto found = MnemonicOf(one.code, one.machine);
    REQUIRE(found.ok());
    CHECK(found->name == one.name);
    CHECK(found->kind == one.kind);
  }
  CHECK_FALSE(MnemonicOf({}, EM_VAX).ok());
  CHECK(MnemonicOf({}, EM_X86_64)->kind == "bad");
}

}  // namespace
}  // namespace countrace::rmap
