#include "runtime/recorder/kernel/functions/kernel_functions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace countrace::runtime {
namespace {

constexpr char kSymbols[] =
    "ffffffff81000000 T _stext\n"
    "ffffffff81000100 t plain\n"
    "ffffffff81000100 t plain\n"
    "ffffffff81000100 T other_name\n"
    "ffffffff81000200 T __noinstr_text_start\n"
    "ffffffff81000210 T early\n"
    "ffffffff81000300 T __noinstr_text_end\n"
    "ffffffff81000400 t hidden\n"
    "ffffffff81000500 T bpf_ktime_get_ns\n"
    "ffffffff81000600 t plain.cold\n"
    "ffffffff81000700 D data\n"
    "ffffffffc0000000 t plain\t[ext4]\n"
    "ffffffffc0000010 t ext4_hidden\t[ext4]\n"
    "short\n\n";
constexpr char kTraceable[] = "_stext\nplain\nbpf_ktime_get_ns\nplain [ext4]\n";

std::vector<std::string> Named(const std::vector<KernelFunction>& functions,
                               const std::string& name) {
  std::vector<std::string> found;
  for (const KernelFunction& function : functions) {
    if (function.name == name) {
      found.push_back(function.module + "/" +
                      function.why_not.substr(0, function.why_not.find(':')));
    }
  }
  return found;
}

}  // namespace

TEST_CASE("kernel functions: each is there once, with what forbids a hook",
          "[runtime][kernel]") {
  const auto functions = ParseKernelFunctions(kSymbols, kTraceable);
  using Names = std::vector<std::string>;
  CHECK(Named(functions, "plain") == Names{"/", "ext4/"});
  CHECK(Named(functions, "early") == Names{"/noinstr"});
  CHECK(Named(functions, "other_name") == Names{"/"});
  CHECK(Named(functions, "hidden") == Names{"/notrace"});
  CHECK(Named(functions, "ext4_hidden") == Names{"ext4/notrace"});
  CHECK(Named(functions, "bpf_ktime_get_ns") ==
        Names{"/in the recorder's own path"});
  CHECK(Named(functions, "data").empty());
  CHECK(Named(functions, "plain.cold").empty());
}

TEST_CASE("kernel functions: without the kernel's list all may have hooks",
          "[runtime][kernel]") {
  const auto functions = ParseKernelFunctions(kSymbols, "");
  CHECK(Named(functions, "hidden") == std::vector<std::string>{"/"});
}

// Any cut of the files, as a race with the kernel or a limit may leave it.
TEST_CASE("kernel functions: every prefix of the files is read",
          "[runtime][kernel]") {
  const std::string symbols = kSymbols, traceable = kTraceable;
  for (std::size_t length = 0; length <= symbols.size(); ++length) {
    const auto functions = ParseKernelFunctions(
        symbols.substr(0, length),
        traceable.substr(0, std::min(length, traceable.size())));
    CHECK(functions.size() <= 10);
  }
}

}  // namespace countrace::runtime
