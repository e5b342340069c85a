#include "runtime/recorder/samples/kernel_names.h"

#include <catch2/catch.hpp>
#include <string>

namespace countrace::runtime {
namespace {

TEST_CASE("kernel names: an address as the kernel prints it") {
  const auto plain = ParseCodeName(0x1018, "do_nanosleep+0x18/0x1c0");
  REQUIRE(plain);
  CHECK(plain->begin == 0x1000);
  CHECK(plain->bytes == 0x1c0);
  CHECK(plain->name == "do_nanosleep");
  const auto first = ParseCodeName(0x1000, "ext4_read+0x0/0x20 [ext4]");
  REQUIRE(first);
  CHECK(first->begin == 0x1000);
  CHECK(first->name == "ext4_read [ext4]");
  CHECK(ParseCodeName(0x1001, "a+b/c+0x1/0x2")->name == "a+b/c");
  for (const char* wrong :
       {"", "0xffffffff81000000", "name", "name+0x18", "name/0x18", "+0x1/0x2",
        "name+0x2/0x2", "name+0x1019/0x2000", "name+x/0x2", "name+0x1/"}) {
    INFO(wrong);
    CHECK(!ParseCodeName(0x1018, wrong));
  }
}

TEST_CASE("kernel names: a function is asked for once") {
  int asked = 0;
  KernelNames names([&asked](std::uint64_t address) {
    ++asked;
    if (address < 0x100 || address >= 0x300)
      return std::optional<LocalSymbol>();
    const std::uint64_t begin = address / 0x80 * 0x80;
    return std::optional(LocalSymbol{begin, 0x80, "f" + std::to_string(begin)});
  });
  CHECK(names.Find(0x99) == nullptr);
  CHECK(names.Find(0x300) == nullptr);
  CHECK(asked == 2);
  for (int turn = 0; turn < 2; ++turn) {
    for (std::uint64_t address = 0x100; address < 0x300; ++address) {
      REQUIRE(names.Find(address) != nullptr);
      CHECK(names.Find(address)->begin == address / 0x80 * 0x80);
    }
  }
  CHECK(asked == 2 + 4);
  // After a call, and where an interrupt stopped a function at its begin.
  CHECK(names.CallerAddress(0x181) == 0x180);
  CHECK(names.CallerAddress(0x190) == 0x18f);
  CHECK(names.CallerAddress(0x180) == 0x180);
  CHECK(names.CallerAddress(0x300) == 0x2ff);
}

}  // namespace
}  // namespace countrace::runtime
