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

}  // namespace
}  // namespace countrace::rmap
