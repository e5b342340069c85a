#include "logformat/read/call_flags.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace countrace::logformat {
namespace {

std::string Text(const char* call, const char* argument, std::uint64_t value) {
  const NumberNames* const names = FindCallNames(call, argument);
  REQUIRE(names != nullptr);
  return NumberText(*names, value);
}

TEST_CASE("flags are named as strace names them") {
  CHECK(Text("openat", "flags", O_RDONLY | O_CLOEXEC) == "O_RDONLY|O_CLOEXEC");
  CHECK(Text("openat", "flags", O_WRONLY | O_CREAT | O_TRUNC) ==
        "O_WRONLY|O_CREAT|O_TRUNC");
  CHECK(Text("openat", "flags", O_RDWR | O_SYNC) == "O_RDWR|O_SYNC");
  CHECK(Text("open", "flags", O_RDWR | O_TMPFILE) == "O_RDWR|O_TMPFILE");
  CHECK(Text("openat", "dfd", static_cast<std::uint64_t>(AT_FDCWD)) ==
        "AT_FDCWD");
  CHECK(Text("openat", "mode", 0644) == "0644");
  CHECK(Text("mmap", "prot", PROT_NONE) == "PROT_NONE");
  CHECK(Text("mmap", "prot", PROT_READ | PROT_WRITE) == "PROT_READ|PROT_WRITE");
  CHECK(Text("mmap", "flags", MAP_PRIVATE | MAP_ANONYMOUS) ==
        "MAP_PRIVATE|MAP_ANONYMOUS");
  CHECK(Text("socket", "family", AF_INET6) == "AF_INET6");
  CHECK(Text("socket", "type", SOCK_STREAM | SOCK_CLOEXEC) ==
        "SOCK_STREAM|SOCK_CLOEXEC");
  CHECK(Text("access", "mode", 0) == "F_OK");
  CHECK(Text("access", "mode", 6) == "R_OK|W_OK");
  CHECK(Text("openat", "ret", static_cast<std::uint64_t>(-2)) == "-2 ENOENT");
}

TEST_CASE("what has no name stays a number") {
  CHECK(FindCallNames("read", "count") == nullptr);
  CHECK(Text("openat", "dfd", 3).empty());
  CHECK(Text("openat", "ret", 3).empty());
  CHECK(Text("fcntl", "cmd", 987654).empty());
  CHECK(Text("mmap", "flags", MAP_PRIVATE | 1ull << 40) ==
        "MAP_PRIVATE|0x10000000000");
}

TEST_CASE("names that a trace has are shown in the same way") {
  const auto state = ParseNumberNames("0 ff\t1=S\t3=BOTH\t2=D\t0=R");
  const auto mixed = ParseNumberNames("f0 ffffffffffffffff\t20=two\t1=A\t0=no");
  const auto least = ParseNumberNames(
      "ffffffffffffffff ffffffffffffffff\tfffffffffffffffe=less");
  REQUIRE(state);
  REQUIRE(mixed);
  REQUIRE(least);
  CHECK(NumberText(*state, 0) == "R");
  CHECK(NumberText(*state, 3) == "S|D");
  CHECK(NumberText(*state, 0x102) == "D|0x100");
  CHECK(NumberText(*state, 0x100) == "R|0x100");
  CHECK(NumberText(*mixed, 0x21) == "two|A");
  CHECK(NumberText(*mixed, 0x31) == "A|0x30");
  CHECK(NumberText(*mixed, 0) == "no");
  CHECK(NumberText(*least, static_cast<std::uint64_t>(-2)) == "less");
  CHECK(NumberText(*least, 0xfffffffe) == "less");
  CHECK(NumberText(*least, 2).empty());
}

TEST_CASE("the parts of a text of flags are the bits of the value") {
  std::mt19937_64 random(45);
  const NumberNames* const names = FindCallNames("mmap", "prot");
  REQUIRE(names != nullptr);
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t value = random() & 0xffff;
    const std::string text = NumberText(*names, value);
    CAPTURE(value, text);
    CHECK((text.find("PROT_READ") != std::string::npos) == ((value & 1) != 0));
    CHECK((text.find("PROT_WRITE") != std::string::npos) == ((value & 2) != 0));
    CHECK((text.find("PROT_EXEC") != std::string::npos) == ((value & 4) != 0));
    const std::uint64_t rest = value & ~7ull;
    const std::size_t at = text.find("0x");
    if (rest == 0 || text.empty()) {
      CHECK(at == std::string::npos);
    } else {
      CHECK(std::stoull(text.substr(at), nullptr, 16) == rest);
    }
  }
}

}  // namespace
}  // namespace countrace::logformat
