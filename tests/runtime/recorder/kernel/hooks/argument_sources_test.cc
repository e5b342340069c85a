#include "runtime/recorder/kernel/hooks/argument_sources.h"

#include <asm/ptrace.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace countrace::runtime {
namespace {

TEST_CASE("argument_sources: a note's arguments are split at blanks outside") {
  CHECK(SplitUsdtArguments("").empty());
  CHECK(SplitUsdtArguments("-4@%eax  8@16(%rsp)") ==
        std::vector<std::string>{"-4@%eax", "8@16(%rsp)"});
  CHECK(SplitUsdtArguments("8@[sp, 16] -4@x0") ==
        std::vector<std::string>{"8@[sp, 16]", "-4@x0"});
}

TEST_CASE("argument_sources: fields of a tracepoint, its own only") {
  const auto sources = TracepointSources(
      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
      "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
      "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n");
  CHECK(sources.arguments[0].place == COUNTRACE_VALUE_UNKNOWN);
  CHECK(sources.arguments[1].place == COUNTRACE_VALUE_HANDED);
  CHECK(sources.arguments[1].offset == 24);
  CHECK(sources.arguments[1].bytes == 4);
  CHECK(sources.arguments[1].is_signed == 1);
  CHECK(sources.arguments[2].place == COUNTRACE_VALUE_UNKNOWN);
  CHECK(TracepointSources("").arguments[0].place == COUNTRACE_VALUE_UNKNOWN);
}

TEST_CASE("argument_sources: of a fault the address and the error code") {
  const auto sources = FaultSources();
  CHECK(sources.arguments[0].offset == 0);
  CHECK(sources.arguments[1].offset == 16);
  CHECK(sources.arguments[2].place == COUNTRACE_VALUE_UNKNOWN);
  CHECK(sources.caller.place == COUNTRACE_VALUE_UNKNOWN);
}

#ifdef __x86_64__
countrace_value_source First(const std::string& arguments) {
  return UsdtSources(arguments).arguments[0];
}

TEST_CASE("argument_sources: forms of an x86 note that can be followed") {
  const auto constant = First("-4@$-7");
  CHECK(constant.place == COUNTRACE_VALUE_CONSTANT);
  CHECK(constant.displacement == -7);
  const auto narrow = First("2@%r9w");
  CHECK(narrow.place == COUNTRACE_VALUE_HANDED);
  CHECK(narrow.offset == offsetof(pt_regs, r9));
  CHECK(narrow.bytes == 2);
  CHECK(narrow.is_signed == 0);
  const auto local = First("-8@-24(%rbp)");
  CHECK(local.place == COUNTRACE_VALUE_IN_MEMORY);
  CHECK(local.offset == offsetof(pt_regs, rbp));
  CHECK(local.displacement == -24);
  CHECK(local.index_offset == COUNTRACE_NO_INDEX);
  const auto element = First("1@0x10(%rax,%rcx,4)");
  CHECK(element.place == COUNTRACE_VALUE_IN_MEMORY);
  CHECK(element.index_offset == offsetof(pt_regs, rcx));
  CHECK(element.index_shift == 2);
  CHECK(element.displacement == 16);
  CHECK(First("8@(%rdi)").displacement == 0);
}

TEST_CASE("argument_sources: what cannot be followed is not known") {
  for (const char* arguments :
       {"", "8f@%xmm0", "8@%xmm0", "4@%ah", "8@counter(%rip)", "8@8(%rip)",
        "8@(%rax,%rcx,3)", "8@(%rax,%rcx", "3@%rax", "8@", "@%rax", "%rax",
        "8@$", "8@$x", "8@%", "99999999999999999999@%rax"}) {
    CAPTURE(arguments);
    CHECK(First(arguments).place == COUNTRACE_VALUE_UNKNOWN);
  }
}

TEST_CASE("argument_sources: the calling conventions of x86") {
  const auto function = FunctionSources();
  CHECK(function.arguments[3].offset == offsetof(pt_regs, rcx));
  CHECK(function.caller.place == COUNTRACE_VALUE_IN_MEMORY);
  CHECK(function.caller.offset == offsetof(pt_regs, rsp));
  const auto call = SystemCallSources(false);
  CHECK(call.arguments[3].offset == offsetof(pt_regs, r10));
  CHECK(call.caller.offset == offsetof(pt_regs, rip));
  const auto compat = SystemCallSources(true);
  CHECK(compat.arguments[0].offset == offsetof(pt_regs, rbx));
  CHECK(compat.arguments[0].bytes == 4);
}
#endif

}  // namespace
}  // namespace countrace::runtime
