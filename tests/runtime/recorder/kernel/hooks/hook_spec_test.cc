// `--kernel` and `--hook` texts: the hooks they select in a known program.
#include "runtime/recorder/kernel/hooks/hook_spec.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "runtime/recorder/kernel/hooks/function_symbols.h"
#include "runtime/recorder/kernel/hooks/usdt_notes.h"
#include "runtime/recorder/system/syscall_names.h"

namespace countrace::runtime {
namespace {

using Place = HookAttachment::Place;
using logformat::HookKind;
using logformat::HookOrigin;

const std::string kProgram = COUNTRACE_PROGRAM_WITH_HOOKS;  // C++
const std::string kCProgram = COUNTRACE_C_PROGRAM;

KernelHookRequest Parsed(const std::string& spec) {
  KernelHookRequest request;
  const absl::Status status = AddDynamicHooks(spec, request);
  INFO(status.ToString());
  REQUIRE(status.ok());
  return request;
}

TEST_CASE("hook_spec: a function is a segment from its begin to its return",
          "[recorder][hook_spec]") {
  const KernelHookRequest request = Parsed("uprobe:" + kCProgram + ":main");
  REQUIRE(request.dynamic.size() == 1);
  const DynamicHook& hook = request.dynamic[0];
  CHECK(hook.name == "main");
  CHECK(hook.provider == kCProgram.substr(kCProgram.rfind('/') + 1));
  CHECK(hook.kind == HookKind::kSegment);
  CHECK(hook.origin == HookOrigin::kProbe);
  REQUIRE(hook.attachments.size() == 2);
  CHECK(hook.attachments[0].place == Place::kEnter);
  CHECK(hook.attachments[1].place == Place::kExit);
  CHECK(hook.attachments[1].on_return);
  CHECK(hook.attachments[0].offset == hook.attachments[1].offset);
  const auto functions = ReadFunctionSymbols(kCProgram);
  REQUIRE(functions.ok());
  std::set<std::uint64_t> offsets;
  for (const FunctionSymbol& function : functions->functions) {
    if (function.symbol == "main") offsets.insert(function.offset);
  }
  CHECK(offsets == std::set<std::uint64_t>{hook.attachments[0].offset});
}

TEST_CASE("hook_spec: where exceptions may pass there is no return probe",
          "[recorder][hook_spec]") {
  const KernelHookRequest request = Parsed("uprobe:" + kProgram + ":main");
  REQUIRE(request.dynamic.size() == 1);
  const DynamicHook& hook = request.dynamic[0];
  const bool is_segment = hook.kind == HookKind::kSegment;
  CHECK((hook.attachments.size() > 1) == is_segment);
  CHECK(request.notes.empty() == is_segment);  // without libcapstone: a point
  CHECK(hook.attachments[0].place ==
        (is_segment ? Place::kEnter : Place::kPoint));
  for (std::size_t i = 0; i < hook.attachments.size(); ++i) {
    CHECK_FALSE(hook.attachments[i].on_return);
    if (i != 0) CHECK(hook.attachments[i].place == Place::kExit);
  }
}

TEST_CASE("hook_spec: one note says which functions are points and why",
          "[recorder][hook_spec]") {
  const KernelHookRequest request = Parsed("uprobe:" + kCProgram + ":*");
  std::size_t points = 0;
  for (const DynamicHook& hook : request.dynamic) {
    if (hook.kind == HookKind::kPoint) ++points;
    if (hook.name == "_start") CHECK(hook.attachments.size() == 1);
  }
  CHECK(points == 1);
  REQUIRE(request.notes.size() == 1);
  CHECK(request.notes[0].find("points, not segments: _start of ") !=
        std::string::npos);
}

TEST_CASE("hook_spec: the begin of a function alone is a point",
          "[recorder][hook_spec]") {
  const KernelHookRequest segment = Parsed("uprobe:" + kProgram + ":main");
  const KernelHookRequest begin = Parsed("uprobe-enter:" + kProgram + ":main");
  REQUIRE(begin.dynamic.size() == 1);
  CHECK(begin.dynamic[0].kind == HookKind::kPoint);
  REQUIRE(begin.dynamic[0].attachments.size() == 1);
  CHECK(begin.dynamic[0].attachments[0].place == Place::kPoint);
  CHECK(begin.dynamic[0].attachments[0].offset ==
        segment.dynamic[0].attachments[0].offset);
  CHECK(begin.notes.empty());
}

TEST_CASE("hook_spec: a list of values is the enter's, and root's alone",
          "[recorder][hook_spec]") {
  const std::string spec =
      "uprobe:" + kCProgram + ":main(n:s32=arg0,v:ptr=arg1)";
  KernelHookRequest request;
  const absl::Status status = AddDynamicHooks(spec, request);
  if (geteuid() != 0) {
    CHECK(absl::IsPermissionDenied(status));
    CHECK(request.dynamic.empty());
    return;
  }
  INFO(status);
  REQUIRE(request.dynamic.size() == 1);
  const DynamicHook& hook = request.dynamic[0];
  CHECK(hook.name == "main");
  CHECK(hook.values.names == std::vector<std::string>{"n", "v"});
  CHECK(hook.exit_values.types.empty());
  REQUIRE(hook.attachments.size() > 1);
  CHECK(hook.attachments[0].stored.count == 2);
  CHECK(hook.attachments[0].stored.bytes == 16);
  CHECK(hook.attachments[1].stored.count == 0);
}

TEST_CASE("hook_spec: parameters in a function's name are no list of values",
          "[recorder][hook_spec]") {
  const std::string self = "/proc/self/exe";
  const auto functions = ReadFunctionSymbols(self);
  REQUIRE(functions.ok());
  int tried = 0;
  for (const FunctionSymbol& function : functions->functions) {
    const std::string& name = function.name;
    if (tried == 20) break;
    if (!name.ends_with(')') || name.ends_with("(*)") ||
        name.find_first_of("[]*?{}\\") != std::string::npos) {
      continue;
    }
    KernelHookRequest request;
    if (!AddDynamicHooks("uprobe-enter:" + self + ":" + name, request).ok()) {
      continue;  // its first instruction takes no probe
    }
    CAPTURE(name);
    ++tried;
    REQUIRE_FALSE(request.dynamic.empty());
    for (const DynamicHook& hook : request.dynamic) {
      CHECK(hook.values.types.empty());
      CHECK(hook.attachments[0].stored.count == 0);
    }
  }
  CHECK(tried > 0);
}

TEST_CASE("hook_spec: functions of a Go program have no return probe",
          "[recorder][hook_spec]") {
  const std::string go = "hook_spec_go_program";
  const std::string copy =
      "objcopy --add-section " +
      std::string(GENERATE(".gopclntab", ".note.go.buildid")) +
      "=/proc/self/comm " + kProgram + " " + go;
  REQUIRE(std::system(copy.c_str()) == 0);
  const KernelHookRequest request = Parsed("uprobe:./" + go + ":main");
  REQUIRE(request.dynamic.size() == 1);
  CHECK(request.dynamic[0].kind == HookKind::kPoint);
  REQUIRE(request.dynamic[0].attachments.size() == 1);
  CHECK_FALSE(request.dynamic[0].attachments[0].on_return);
  REQUIRE(request.notes.size() == 1);
  CHECK(request.notes[0].find("is a Go program") != std::string::npos);
  // They may be refused later.
  CHECK(request.notes[0].find("can have points") != std::string::npos);
  std::remove(go.c_str());
}

TEST_CASE("hook_spec: the default version of a function needs no version",
          "[recorder][hook_spec]") {
  const KernelHookRequest plain = Parsed("uprobe:" + kProgram + ":main");
  const std::string copy = "hook_spec_versions";
  const auto version = [&](const std::string& text) {
    return std::system(
        ("objcopy --redefine-sym main=" + text + " " + kProgram + " " + copy)
            .c_str());
  };
  REQUIRE(version("main@@V_2.15") == 0);
  const KernelHookRequest request = Parsed("uprobe:./" + copy + ":main");
  REQUIRE(request.dynamic.size() == 1);
  CHECK(request.dynamic[0].name == "main");
  CHECK(request.dynamic[0].attachments[0].offset ==
        plain.dynamic[0].attachments[0].offset);
  REQUIRE(version("main@V_2.2.5") == 0);
  CHECK(Parsed("uprobe:./" + copy + ":main@V_2.2.5").dynamic.size() == 1);
  KernelHookRequest none;
  CHECK_FALSE(AddDynamicHooks("uprobe:./" + copy + ":main", none).ok());
  std::remove(copy.c_str());
}

TEST_CASE("hook_spec: a glob makes one hook for each place",
          "[recorder][hook_spec]") {
  const KernelHookRequest request = Parsed("uprobe:" + kProgram + ":ma*");
  const auto functions = ReadFunctionSymbols(kProgram);
  REQUIRE(functions.ok());
  std::set<std::uint64_t> places, hooked;
  for (const FunctionSymbol& function : functions->functions) {
    if (function.symbol.rfind("ma", 0) == 0 ||
        function.name.rfind("ma", 0) == 0) {
      places.insert(function.offset);
    }
  }
  for (const DynamicHook& hook : request.dynamic) {
    CHECK(hooked.insert(hook.attachments[0].offset).second);
  }
  CHECK(hooked == places);
}

TEST_CASE("hook_spec: a program's own hooks are USDT probes, segments paired",
          "[recorder][hook_spec]") {
  const KernelHookRequest request = Parsed("usdt:" + kProgram + ":*:*");
  const auto notes = ReadUsdtNotes(kProgram);
  REQUIRE(notes.ok());
  std::size_t places = 0;
  for (const DynamicHook& hook : request.dynamic) {
    const bool segment = hook.kind == HookKind::kSegment;
    for (const HookAttachment& at : hook.attachments) {
      CHECK((at.place != Place::kPoint) == segment);
      CHECK(at.offset != 0);
      CHECK(at.semaphore_offset != 0);
      CHECK_FALSE(at.on_return);
      ++places;
    }
    CHECK(hook.name.find("__") == std::string::npos);
  }
  CHECK(places == notes->size());
}

TEST_CASE("hook_spec: what is wrong is said, and garbage is refused",
          "[recorder][hook_spec][property]") {
  const auto refusal = [](const std::string& spec) {
    KernelHookRequest request;
    const absl::Status status = AddDynamicHooks(spec, request);
    CHECK_FALSE(status.ok());
    CHECK_FALSE(request.any());
    return std::string(status.message());
  };
  CHECK(refusal("uprobe:" + kProgram + ":mian").find("matches") !=
        std::string::npos);
  CHECK(refusal("uprobe:/etc/passwd:f").find("ELF") != std::string::npos);
  CHECK(refusal("uprobe:/dev/null:f").find("no regular file") !=
        std::string::npos);
  CHECK(refusal("usdt:" + kProgram + ":no:*").find("no USDT probe") !=
        std::string::npos);
  std::mt19937 random(7);
  const std::string letters = "uprobe:st/*d[]?\\ \n\t\x01:::";
  for (int i = 0; i < 2000; ++i) {
    std::string spec;
    for (std::uint64_t n = random() % 24; n > 0; --n) {
      spec += letters[random() % letters.size()];
    }
    KernelHookRequest request;
    (void)AddDynamicHooks(spec, request);  // no crash, and no such hook
    CHECK_FALSE(request.any());
  }
}

TEST_CASE("hook_spec: words of --kernel", "[recorder][hook_spec]") {
  KernelHookRequest request;
  REQUIRE(AddKernelSegments("syscalls", request).ok());
  CHECK(request.syscalls);
  CHECK_FALSE(request.irqs);
  REQUIRE(AddKernelSegments("irq", request).ok());
  CHECK(request.irqs);
  CHECK(absl::IsInvalidArgument(AddKernelSegments("irqs", request)));
}

TEST_CASE("syscall_names: numbers of this machine and of 32-bit programs",
          "[recorder][hook_spec]") {
  CHECK(SyscallName(1'000'000, false) == "1000000");
#ifdef __x86_64__
  CHECK(SyscallName(0, false) == "read");
  CHECK(SyscallName(59, false) == "execve");
  CHECK(SyscallName(3, true) == "read");
#endif
}

}  // namespace
}  // namespace countrace::runtime
