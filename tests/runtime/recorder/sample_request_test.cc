// `--sample` texts, and the functions that only the recorded machine names.
#include "runtime/recorder/request/sample_request.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/recorder/samples/local_symbols.h"

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

TEST_CASE("sample request: counted events have two prime periods") {
  const auto is_prime = [](std::uint64_t number) {
    for (std::uint64_t i = 2; i * i <= number; ++i) {
      if (number % i == 0) return false;
    }
    return true;
  };
  for (const std::uint64_t period : {100, 101, 1000, 65536, 999'999'937}) {
    CAPTURE(period);
    const auto both =
        ParseSampleRequests({absl::StrFormat("every=%d:page-faults", period)});
    REQUIRE(both.ok());
    REQUIRE(both->size() == 2);
    const std::uint64_t one = (*both)[0].period, other = (*both)[1].period;
    CHECK(one < other);
    CHECK(is_prime(one));
    CHECK(is_prime(other));
    // As many samples as with the one period.
    const double all =
        1 / static_cast<double>(one) + 1 / static_cast<double>(other);
    CHECK(all * static_cast<double>(period) == Approx(1).epsilon(0.03));
    CHECK((*both)[0].Text() == (*both)[1].Text());
    CHECK((*both)[0].Text() == absl::StrFormat("every %d and %d", one, other));
  }
  for (const char* text :
       {"every=99:page-faults", "exactly=1000:page-faults", "199:page-faults",
        "every=1000000:cpu-clock", "every=1000000000001:page-faults"}) {
    CAPTURE(text);
    const auto only = ParseSampleRequests({text});
    REQUIRE(only.ok());
    CHECK(only->size() == 1);
  }
  CHECK(ParseSampleRequest("exactly=1000:page-faults")->Text() == "every 1000");
}

TEST_CASE("sample request: what is none is refused") {
  for (const char* text :
       {"", "0", "-5", "1.5", "199:", ":cpu-clock", "every=", "every=0",
        "every=9:cpu-clock", "exactly=", "exactly=0:page-faults",
        "exactly=9:cpu-clock", "7:exec-runtime", "7:nothing", "1000001",
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

TEST_CASE("sample request: bytes of stacks are the kernel's multiples of 8") {
  CHECK(*ParseCallGraph("fp") == 0);
  CHECK(*ParseCallGraph("dwarf") == 8192);
  CHECK(*ParseCallGraph("dwarf,1") == 8);
  CHECK(*ParseCallGraph("dwarf,16K") == 16384);
  CHECK(*ParseCallGraph("dwarf,65528") == 65528);
  for (const char* wrong : {"", "lbr", "dwarf,", "dwarf,0", "dwarf,-8", "fp,8",
                            "dwarf,65529", "dwarf,8192,8"}) {
    INFO(wrong);
    CHECK(absl::IsInvalidArgument(ParseCallGraph(wrong).status()));
  }
}

TEST_CASE("local symbols: the kernel's end where the next begins") {
  const auto symbols = LocalSymbols::OfKernel(
      "ffff100 T first\n"
      "ffff100 t alias\n"
      "ffff100 T __firstborn\n"
      "ffff100 W the_weakest\n"
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

TEST_CASE("sample request: which events give data addresses") {
  using logformat::SampleData;
  auto some = ParseSampleRequests({"every=1000:page-faults", "199", "99:cs",
                                   "every=1:mem:0x404010/8:w", "10:cycles"});
  REQUIRE(some.ok());
  const auto without = RequestData(*some);
  REQUIRE(without.ok());
  CHECK(*without == std::vector<std::string>{"cpu-clock", "cs"});
  for (const SampleRequest& request : *some) {
    CAPTURE(request.event.name);
    const bool none =
        request.event.name == "cpu-clock" || request.event.name == "cs";
    CHECK(request.data == (none ? SampleData::kNone
                           : request.event.name == "cycles"
                               ? SampleData::kSource
                               : SampleData::kAddress));
  }
  auto clocks = ParseSampleRequests({"199", "99:context-switches"});
  REQUIRE(clocks.ok());
  const absl::Status refused = RequestData(*clocks).status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK(refused.message().find("cpu-clock, context-switches") !=
        std::string::npos);
}

}  // namespace
}  // namespace countrace::runtime
