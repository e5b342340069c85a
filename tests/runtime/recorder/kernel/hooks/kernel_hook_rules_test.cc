#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"

#include <sys/syscall.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/recorder/kernel/hooks/kernel_ring.h"

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
  CHECK(rules->conditional);
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
  CHECK_FALSE(always->conditional);
}

TEST_CASE("kernel_hook_rules: what a hook does not have is refused by name") {
  for (const std::string rule :
       {"server:parse if arg0 == \"x\"", "server:parse if arg0 > 1.5",
        "server:parse if number == 3", "softirq:* if ret == 0",
        "irq:local_timer if ret == 0", "irq:* if arg0 == 1",
        "softirq:TIMER from libc.so", "fault:user from libc.so",
        "fault:* if arg2 == 1", "*:parse if arg1 == \"x\" every 3"}) {
    const auto refused = Resolve({rule});
    INFO(rule);
    REQUIRE(absl::IsInvalidArgument(refused.status()));
    const std::string message(refused.status().message());
    CHECK(message.find(rule) != std::string::npos);
    CHECK(message.find("never'") != std::string::npos);
  }
  // Allowed for hooks of programs, and for hooks that are not recorded.
  CHECK(Resolve({"other:* if arg0 == \"x\""}).ok());
  CHECK(Resolve({"server:* never", "* if arg0 == \"x\""},
                [] {
                  KernelHookRequest request = Everything();
                  request.syscalls = request.irqs = false;
                  request.softirqs = request.faults = false;
                  return request;
                }())
            .ok());
}

TEST_CASE("kernel_hook_rules: number is decided before anything runs") {
  const auto rules =
      Resolve({"syscall:* if number >= 100 and number < 110",
               "softirq:* if number == 1 every 2", "irq:* if number == 4095"});
  REQUIRE(rules.ok());
  for (unsigned number = 90; number < 120; ++number) {
    CAPTURE(number);
    CHECK(Answer(*rules, COUNTRACE_FAMILY_SYSCALL, number) ==
          (number >= 100 && number < 110 ? COUNTRACE_RULE_DUMP
                                         : COUNTRACE_RULE_NO_DUMP));
  }
  CHECK(Answer(*rules, COUNTRACE_FAMILY_SOFTIRQ, 1) == COUNTRACE_RULE_ASK + 1);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_SOFTIRQ, 2) == COUNTRACE_RULE_NO_DUMP);
  CHECK(Answer(*rules, COUNTRACE_FAMILY_IRQ, 4095) == COUNTRACE_RULE_DUMP);
  // No value needs to be read.
  CHECK_FALSE(rules->asks_values);
  CHECK(rules->sources.empty());
}

TEST_CASE(
    "kernel_hook_rules: only hooks whose rule compares values have sources") {
  KernelHookRequest request = Everything();
  DynamicHook probe;
  probe.type = DynamicHook::Type::kUsdtProbe;
  probe.provider = "server";
  probe.name = "probe";
  probe.kind = logformat::HookKind::kSegment;
  for (const char* arguments : {"-4@$1", "-4@$2"}) {
    HookAttachment at;
    at.place = HookAttachment::Place::kEnter;
    at.arguments = arguments;
    probe.attachments.push_back(at);
  }
  probe.attachments.back().place = HookAttachment::Place::kExit;
  request.dynamic.push_back(probe);
  const auto rules = Resolve({"server:probe if arg0 == 1", "*"}, request);
  if (!rules.ok()) FAIL(rules.status().ToString());
  CHECK(rules->asks_values);
  CHECK_FALSE(rules->asks_callers);
  REQUIRE(rules->sources_of.size() == 1);
  CHECK(rules->sources_of.at(2) ==
        std::vector<std::uint32_t>{COUNTRACE_SOURCES_LISTED,
                                   COUNTRACE_SOURCES_NONE});
  REQUIRE(rules->sources.size() == COUNTRACE_SOURCES_LISTED + 1);
  const auto& value = rules->sources.back().arguments[0];
  CHECK(value.displacement == 1);
  const auto missing = Resolve({"server:probe if arg1 == 1"}, request);
  CHECK(missing.status().message().find("has 1 arguments") !=
        std::string::npos);
}

}  // namespace
}  // namespace countrace::runtime
