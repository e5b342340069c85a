#include "runtime/recorder/kernel_hooks/kernel_hook_rules.h"

#include <sys/syscall.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/recorder/bpf/kernel_ring.h"

namespace countrace::runtime {
namespace {

KernelHookRequest Everything() {
  KernelHookRequest request;
  request.syscalls = request.irqs = request.softirqs = request.faults = true;
  for (const char* name : {"handle", "parse"}) {
    DynamicHook hook;
    hook.provider = "server";
    hook.name = name;
    request.dynamic.push_back(hook);
  }
  return request;
}

absl::StatusOr<KernelHookRules> Resolve(
    const std::vector<std::string>& rules,
    const KernelHookRequest& request = Everything()) {
  const auto parsed = ParseDumpRules(rules);
  REQUIRE(parsed.ok());
  return ResolveKernelHookRules(*parsed, request, 1000);
}

unsigned Answer(const KernelHookRules& rules, unsigned family,
                unsigned number) {
  return rules.answers.at(family * COUNTRACE_RULED_NUMBERS + number);
}

TEST_CASE("kernel_hook_rules: the first rule that matches a name decides") {
  const auto rules =
      Resolve({"syscall:read never", "syscall:*ead* every 3", "softirq:TIMER",
               "server:parse at most every 2ms", "fault:* every 2 ticks"});
  REQUIRE(rules.ok());
  CHECK(rules->asks);
  CHECK(rules->tick_ns == 1000);
  const auto system_call = [&](unsigned number) {
    return Answer(*rules, COUNTRACE_FAMILY_SYSCALL, number);
  };
  CHECK(system_call(SYS_read) == COUNTRACE_RULE_NO_DUMP);
  CHECK(system_call(SYS_readv) == COUNTRACE_RULE_ASK + 1);
  CHECK(system_call(SYS_readahead) == COUNTRACE_RULE_ASK + 1);
  CHECK(system_call(SYS_write) == COUNTRACE_RULE_NO_DUMP);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_SOFTIRQ, 1) == COUNTRACE_RULE_DUMP);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_SOFTIRQ, 2) == COUNTRACE_RULE_NO_DUMP);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_FAULT, 0) == COUNTRACE_RULE_ASK + 4);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_FAULT, 1) == COUNTRACE_RULE_ASK + 4);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_LISTED, 0) == COUNTRACE_RULE_NO_DUMP);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_LISTED, 1) == COUNTRACE_RULE_ASK + 3);
}

TEST_CASE("kernel_hook_rules: numbers without a name are matched by it") {
  const auto rules =
      Resolve({"syscall:4* every 3", "irq:local_timer", "irq:*"});
  REQUIRE(rules.ok());
  CHECK(Answer(*rules, COUNTRACE_FAMILY_SYSCALL, 4000) == COUNTRACE_RULE_ASK);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_SYSCALL, COUNTRACE_RULED_NUMBERS - 1) ==
        COUNTRACE_RULE_ASK);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_IRQ, 24) == COUNTRACE_RULE_DUMP);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_VECTOR, COUNTRACE_VECTOR_IRQ_WORK) ==
        COUNTRACE_RULE_DUMP);
}

TEST_CASE("kernel_hook_rules: without rules or kernel hooks there are none") {
  CHECK(Resolve({})->rules.empty());
  CHECK(Resolve({"*"}, KernelHookRequest())->rules.empty());
  const auto always = Resolve({"server:*"});
  REQUIRE(always.ok());
  CHECK(always->rules.size() == 1);
  CHECK_FALSE(always->asks);
}

TEST_CASE("kernel_hook_rules: what no record there holds is refused by name") {
  for (const std::string rule :
       {"server:parse if arg0 > 4096", "syscall:read from libc.so",
        "*:parse if arg1 == \"x\" every 3"}) {
    const auto refused = Resolve({rule});
    INFO(rule);
    REQUIRE(absl::IsInvalidArgument(refused.status()));
    const std::string message(refused.status().message());
    CHECK(message.find(rule) != std::string::npos);
    CHECK(message.find("never'") != std::string::npos);
  }
  // Of hooks of programs they may ask, and of what is not recorded.
  CHECK(Resolve({"other:* if arg0 > 4096"}).ok());
  CHECK(Resolve({"server:* never", "* if arg0 > 4096"},
                [] {
                  KernelHookRequest request = Everything();
                  request.syscalls = request.irqs = false;
                  request.softirqs = request.faults = false;
                  return request;
                }())
            .ok());
}

}  // namespace
}  // namespace countrace::runtime
