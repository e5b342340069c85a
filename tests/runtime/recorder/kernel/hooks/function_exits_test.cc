// Where the code of functions is left: known instructions, this program's own
// functions, and bytes that are no code.
#include "runtime/recorder/kernel/hooks/function_exits.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/recorder/kernel/hooks/callbacks.h"
#include "runtime/recorder/kernel/hooks/unwound_functions.h"

namespace countrace::runtime {
namespace {

using Way = FunctionExits::Way;
using Code = std::vector<std::uint8_t>;
using Offsets = std::vector<std::uint64_t>;

constexpr std::uint64_t kOffset = 0x1000;

std::optional<Offsets> Leaving(const Code& code) {
  const FunctionPart part = {code, kOffset};
  return LeavingInstructions({&part, 1});
}

bool CodeIsFollowed() { return Leaving({0x90, 0xc3}).has_value(); }

TEST_CASE("function exits: returns and jumps into other functions") {
  if (!CodeIsFollowed()) return;
  const std::pair<Code, std::optional<Offsets>> cases[] = {
      {{0x55, 0x5d, 0xc3}, Offsets{0x1002}},        // push, pop, ret
      {{0x90, 0xf3, 0xc3}, Offsets{0x1001}},        // repz ret
      {{0x90, 0xc2, 0x08, 0x00}, Offsets{0x1001}},  // ret $8
      {{0x74, 0x01, 0xc3, 0x90, 0xc3}, Offsets{0x1002, 0x1004}},  // je inside
      {{0x90, 0xe9, 0, 1, 0, 0}, Offsets{0x1001}},                // jmp out
      {{0x90, 0xe8, 0, 1, 0, 0, 0xc3}, Offsets{0x1006}},          // call out
      {{0x90, 0xff, 0x60, 0x18}, Offsets{0x1001}},  // jmp *0x18(%rax)
      // add %rdx,%rax; jmp *%rax: a switch; then ret
      {{0x90, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0xc3}, Offsets{0x1006}},
      // notrack jmp *%rax; ret
      {{0x90, 0x3e, 0xff, 0xe0, 0xc3}, Offsets{0x1004}},
      // jmp *table(,%rax,8); ret
      {{0x90, 0xff, 0x24, 0xc5, 0, 0, 0x40, 0, 0xc3}, Offsets{0x1008}},
      // Not known: jmp *%rax alone, a conditional jump out, a jump to the
      // begin, one into an instruction, no end, no code.
      {{0x90, 0xff, 0xe0}, std::nullopt},
      {{0x74, 0x70, 0xc3}, std::nullopt},
      {{0x90, 0xeb, 0xfd, 0xc3}, std::nullopt},
      {{0x90, 0xeb, 0x01, 0xe8, 0xc3, 0, 0, 0, 0xc3}, std::nullopt},
      {{0x90, 0x90}, std::nullopt},
      {{0x90, 0x06, 0xc3}, std::nullopt},
      {{0x90, 0xc3, 0xe8, 0}, std::nullopt},
      {{}, std::nullopt},
  };
  for (const auto& [code, offsets] : cases) {
    CAPTURE(code);
    CHECK(Leaving(code) == offsets);
  }
}

TEST_CASE("function exits: a part that was moved away belongs to it") {
  if (!CodeIsFollowed()) return;
  const Code begin = {0x0f, 0x84, 0xfa, 0x0f, 0, 0, 0xc3};  // je 0x2000; ret
  const Code moved = {0x90, 0xe9, 0x00, 0xf0, 0xff, 0xff, 0xc3};  // jmp 0x1006
  const FunctionPart parts[] = {{begin, 0x1000}, {moved, 0x2000}};
  CHECK(LeavingInstructions(parts) == Offsets{0x1006, 0x2006});
}

TEST_CASE("function exits: of this program, inside its functions, no begins",
          "[property]") {
  const std::string path = "/proc/self/exe";
  const auto object = ReadFunctionSymbols(path);
  REQUIRE(object.ok());
  CHECK(object->unwinds);
  CHECK_FALSE(object->switches_stacks);
  std::set<std::uint64_t> begins;
  for (const FunctionSymbol& function : object->functions) {
    begins.insert(function.offset);
  }
  std::size_t segments = 0, all = 0;
  for (const FunctionSymbol& function : object->functions) {
    CAPTURE(function.symbol);
    const FunctionExits exits = ExitsOf(path, *object, function);
    CHECK(exits.way != Way::kReturnProbe);
    if (function.offset == object->entry_offset) {
      CHECK(exits.way == Way::kNotCalled);
    }
    CHECK(exits.offsets.empty() == (exits.way != Way::kInstructions));
    for (const std::uint64_t offset : exits.offsets) {
      CHECK(begins.count(offset) == 0);
    }
    ++all;
    segments += exits.is_segment() ? 1 : 0;
  }
  if (CodeIsFollowed()) CHECK(segments > all * 3 / 4);
}

TEST_CASE("function exits: what code calls, and whether through pointers") {
  if (!CodeIsFollowed()) return;
  struct Case {
    Code code;
    bool through_pointer;
    Offsets targets;
  };
  const Case cases[] = {
      {{0x55, 0x5d, 0xc3}, false, {}},
      {{0xe8, 0xfb, 0, 0, 0, 0xc3}, false, {0x1100}},     // call 0x1100
      {{0xe9, 0xfb, 0, 0, 0}, false, {0x1100}},           // jmp 0x1100
      {{0x74, 0x01, 0x90, 0xc3}, false, {}},              // je inside
      {{0xff, 0xd3, 0xc3}, true, {}},                     // call *%rbx
      {{0xff, 0x50, 0x08, 0xc3}, true, {}},               // call *8(%rax)
      {{0xff, 0xe0}, true, {}},                           // jmp *%rax
      {{0xff, 0x25, 0, 1, 0, 0}, true, {}},               // jmp *0x100(%rip)
      {{0x48, 0x01, 0xd0, 0xff, 0xe0, 0xc3}, false, {}},  // a switch
      {{0x3e, 0xff, 0xe0, 0xc3}, false, {}},              // a switch
      {{0xff, 0x24, 0xc5, 0, 0, 0x40, 0, 0xc3}, false, {}}};  // a switch
  for (const Case& each : cases) {
    CAPTURE(each.code);
    const CodeCalls calls = CallsOf({each.code, kOffset});
    CHECK(calls.is_known);
    CHECK(calls.through_pointer == each.through_pointer);
    CHECK(calls.targets == each.targets);
  }
  const Code no_code = {0x06};
  CHECK_FALSE(CallsOf({no_code, kOffset}).is_known);
}

TEST_CASE("function exits: the C library calls back by name") {
  const std::string path = "/lib/x86_64-linux-gnu/libc.so.6";
  const auto object = ReadFunctionSymbols(path);
  if (!object.ok()) return;
  CHECK(object->is_c_library);
  CHECK_FALSE(object->switches_stacks);
  bool found = false;
  for (const FunctionSymbol& function : object->functions) {
    const Way way = ExitsOf(path, *object, function).way;
    if (function.symbol == "malloc") CHECK(way == Way::kReturnProbe);
    if (function.symbol == "setjmp") CHECK(way == Way::kNotCalled);
    if (function.symbol != "qsort" && function.symbol != "pause") continue;
    CHECK(way != Way::kReturnProbe);
    found = true;
  }
  CHECK(found);
}

TEST_CASE(
    "function exits: names of the C library through which stacks unwind") {
  for (const char* const symbol :
       {"read", "__read", "__libc_read", "__read_chk", "pread64", "open64",
        "__open_2", "pthread_exit", "pthread_cond_wait@GLIBC_2.2.5", "fgets",
        "_IO_getc", "__isoc99_fscanf", "fcntl64", "__select"}) {
    CAPTURE(symbol);
    CHECK(MayEndThread(symbol));
  }
  for (const char* const symbol :
       {"malloc", "memcpy", "readdir", "__read_nocancel", "openlog", "pthread",
        "strlen", "_", "", "@", "64"}) {
    CAPTURE(symbol);
    CHECK_FALSE(MayEndThread(symbol));
    CHECK_FALSE(CallsBack(symbol));
  }
  CHECK(CallsBack("qsort@GLIBC_2.2.5"));
}

TEST_CASE("function exits: stubs have the names of what they call") {
  const auto own = ReadFunctionSymbols("/proc/self/exe");
  REQUIRE(own.ok());
  CHECK_FALSE(own->linkage.ranges.empty());
  if (!CodeIsFollowed()) return;
  std::set<std::string> names;
  for (const auto& [offset, linked] : own->linkage.functions) {
    if (linked.of_c_library) names.insert(linked.name);
    if (linked.name.starts_with("_Z")) CHECK_FALSE(linked.of_c_library);
    CHECK(offset % 8 == 0);
    CHECK(std::any_of(own->linkage.ranges.begin(), own->linkage.ranges.end(),
                      [offset = offset](const CodeRange& range) {
                        return offset >= range.offset &&
                               offset - range.offset < range.bytes;
                      }));
  }
  CHECK(names.count("memcpy") == 1);
}

TEST_CASE("function exits: functions that no return probe may be on") {
  ObjectFunctions object;
  object.entry_offset = 0x500;
  const auto way = [&](const std::string& symbol, std::uint64_t offset) {
    FunctionSymbol function;
    function.symbol = symbol;
    function.offset = offset;
    return ExitsOf("/nonexistent", object, function).way;
  };
  for (const char* const symbol :
       {"_start", "_setjmp@@GLIBC_2.2.5", "__sigsetjmp", "getcontext",
        "__restore_rt", "_dl_runtime_resolve_xsavec", "__morestack"}) {
    CAPTURE(symbol);
    CHECK(way(symbol, 0x1000) == Way::kNotCalled);
  }
  CHECK(way("begin", 0x500) == Way::kNotCalled);
  CHECK(way("handle", 0x1000) == Way::kReturnProbe);
  CHECK(way("_startled", 0x1000) == Way::kReturnProbe);
  object.unwinds = true;
  CHECK(way("handle", 0x1000) == Way::kUnknown);
  object.switches_stacks = true;
  CHECK(way("handle", 0x1000) == Way::kSwitches);
  object.is_go = true;
  CHECK(way("handle", 0x1000) == Way::kGo);
}

TEST_CASE("function exits: any bytes are followed or refused", "[property]") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Code code(random() % 40);
    for (std::uint8_t& byte : code) byte = static_cast<std::uint8_t>(random());
    const auto leaving = Leaving(code);
    if (!leaving) continue;
    CHECK_FALSE(leaving->empty());
    for (const std::uint64_t offset : *leaving) {
      CHECK(offset >= kOffset);
      CHECK(offset < kOffset + code.size());
    }
  }
}

}  // namespace
}  // namespace countrace::runtime
