// `--sample` texts, and the functions that only the recorded machine names.
#include "runtime/recorder/samples/sample_request.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/recorder/samples/local_symbols.h"
#include "tests/support/property_runs.h"

namespace countrace::runtime {
namespace {

TEST_CASE("sample request: rates and periods") {
  const auto clock = ParseSampleRequest("199");
  REQUIRE(clock.ok());
  CHECK(clock->event.name == "cpu-clock");
  CHECK(clock->Text() == "199 Hz");
  const auto faults = ParseSampleRequest("every=1000:page-faults");
  REQUIRE(faults.ok());
  CHECK(faults->period == 1000);
  CHECK(faults->rate_hz == 0);
  CHECK(faults->Text() == "every 1000");
  const auto user = ParseSampleRequest("99:page-faults:u");
  REQUIRE(user.ok());
  CHECK(user->event.exclude_kernel);
}

TEST_CASE("sample request: what is none is refused") {
  for (const char* text :
       {"", "0", "-5", "1.5", "199:", ":cpu-clock", "every=", "every=0",
        "every=9:cpu-clock", "7:exec-runtime", "7:nothing", "1000001",
        "every=99999999999999999999:page-faults", "199 cpu-clock"}) {
    INFO(text);
    CHECK(absl::IsInvalidArgument(ParseSampleRequest(text).status()));
  }
  CHECK_FALSE(ParseSampleRequests({"1", "2"}).ok());
  std::vector<std::string> many;
  for (const char* event :
       {"cpu-clock", "page-faults", "minor-faults", "major-faults",
        "context-switches", "cpu-migrations", "task-clock", "alignment-faults",
        "emulation-faults"}) {
    many.push_back(absl::StrFormat("99:%s", event));
  }
  CHECK_FALSE(ParseSampleRequests(many).ok());
  many.pop_back();
  CHECK(ParseSampleRequests(many).ok());
}

TEST_CASE("sample request: a rate that the kernel refuses has both numbers") {
  const auto request = ParseSampleRequest("5000");
  REQUIRE(request.ok());
  CHECK(CheckSampleRate(*request, 5000).ok());
  CHECK(CheckSampleRate(*request, 0).ok());  // not known: the kernel says it
  const std::string text(CheckSampleRate(*request, 1234).message());
  CHECK(text.find("5000") != std::string::npos);
  CHECK(text.find("1234") != std::string::npos);
  CHECK(text.find("sysctl") != std::string::npos);
}

TEST_CASE("local symbols: the kernel's end where the next begins") {
  const auto symbols = LocalSymbols::OfKernel(
      "ffff100 T first\n"
      "ffff100 t alias\n"
      "ffff180 d data\n"
      "ffff200 t second\t[module]\n"
      "0 T hidden\nrubbish\n");
  REQUIRE(symbols.size() == 2);
  CHECK(symbols.Find(0xffff0ff) == nullptr);
  CHECK(symbols.Find(0xffff17f)->name == "first");
  CHECK(symbols.Find(0xffff180) == nullptr);
  CHECK(symbols.Find(0xffff2ff)->name == "second [module]");
  CHECK(LocalSymbols::OfKernel("0 T a\n0 T b\n").size() == 0);
}

TEST_CASE("local symbols: a later function replaces those it covers") {
  for (unsigned seed = 0; seed < test_support::PropertyRuns(200u); ++seed) {
    std::mt19937 random(seed);
    std::string text;
    std::map<std::uint64_t, std::string> model;  // each address
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t begin = 1 + random() % 200;
      const std::uint64_t bytes = random() % 20;
      const std::string name = absl::StrFormat("f%d of this", i);
      absl::StrAppendFormat(&text, "%x %x %s\n", begin, bytes, name);
      if (random() % 8 == 0) text += "no line\n-1 5\n";
      if (bytes == 0) continue;
      // What it overlaps is gone as a whole.
      for (std::uint64_t at = begin; at < begin + bytes; ++at) {
        const auto old = model.find(at);
        if (old == model.end()) continue;
        const std::string gone = old->second;
        std::erase_if(model,
                      [&](const auto& entry) { return entry.second == gone; });
      }
      for (std::uint64_t at = begin; at < begin + bytes; ++at) {
        model[at] = name;
      }
    }
    const LocalSymbols symbols = LocalSymbols::OfJit(text);
    for (std::uint64_t at = 0; at < 230; ++at) {
      const LocalSymbol* const found = symbols.Find(at);
      const auto expected = model.find(at);
      INFO("seed " << seed << " address " << at);
      REQUIRE((found == nullptr) == (expected == model.end()));
      if (found != nullptr) REQUIRE(found->name == expected->second);
    }
  }
}

}  // namespace
}  // namespace countrace::runtime
