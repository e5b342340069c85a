// Names of code made at run time, from texts of any lines, and within limits.
#include "base/code/perf_map.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "tests/support/property_runs.h"

namespace countrace::base {
namespace {

TEST_CASE("perf map: a later function replaces those it covers") {
  for (unsigned seed = 0; seed < test_support::PropertyRuns(200u); ++seed) {
    std::mt19937 random(seed);
    std::string text;
    std::map<std::uint64_t, std::string> model;  // each address
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t begin = 1 + random() % 200;
      const std::uint64_t bytes = random() % 20;
      const std::string name = absl::StrFormat("f%d of this", i);
      if (random() % 2 == 0) {
        absl::StrAppendFormat(&text, "%x %x %s\n", begin, bytes, name);
      } else {
        absl::StrAppendFormat(&text, "0x%X\t 0x%X %s\n", begin, bytes, name);
      }
      if (random() % 8 == 0) text += "no line\n-1 5\n5 5\n1g 4 x\n";
      if (random() % 8 == 0)
        text += "11112222333344445 1 x\nffffffffffffffff 2 x\n";
      // Others lie in between, so that lines lie at ends of what is read.
      if (random() % 8 == 0) {
        text += absl::StrFormat("f0000 1 %s\n",
                                std::string(random() % 30'000, 'x'));
      }
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
    if (random() % 2 == 0) text.pop_back();  // the last line has no end
    std::set<std::uint64_t> addresses;
    for (std::uint64_t i = random() % 50; i > 0; --i) {
      addresses.insert(random() % 240);
    }
    NameLimits limits;
    const PerfMap map = ReadPerfMap(ReadAtOf(text), addresses, limits);
    INFO("seed " << seed);
    CHECK(map.status.ok());
    // Only they are kept.
    CHECK(map.symbols.size() <= addresses.size());
    CHECK(limits.bytes() >= NameLimits::kBytes - addresses.size() * 300);
    for (const std::uint64_t address : addresses) {
      const auto expected = model.find(address);
      const LocalSymbol* const symbol = map.symbols.Find(address);
      REQUIRE((symbol == nullptr ? "" : symbol->name) ==
              (expected == model.end() ? "" : expected->second));
    }
  }
}

TEST_CASE("perf map: a name is cut at 4 KiB, and the next line is whole") {
  for (const std::size_t bytes : {4095, 4096, 4097, 5000, 70'000, 1'000'000}) {
    const std::string text =
        "10 5 " + std::string(bytes, 'x') + "\n20 5 next\n";
    NameLimits limits;
    const PerfMap map = ReadPerfMap(ReadAtOf(text), {0x10, 0x20}, limits);
    INFO(bytes);
    REQUIRE(map.symbols.Find(0x10) != nullptr);
    CHECK(map.symbols.Find(0x10)->name ==
          std::string(std::min(bytes, kLongestJitName), 'x'));
    REQUIRE(map.symbols.Find(0x20) != nullptr);
    CHECK(map.symbols.Find(0x20)->name == "next");
  }
}

TEST_CASE("perf map: names have their room, and what follows is not read") {
  std::string text;
  std::set<std::uint64_t> addresses;
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppendFormat(&text, "%x 10 %s\n", i * 16, std::string(4000, 'x'));
    addresses.insert(static_cast<std::uint64_t>(i) * 16);
  }
  NameLimits limits(100 * 8200);
  const PerfMap map = ReadPerfMap(ReadAtOf(text), addresses, limits);
  CHECK(map.symbols.size() == 100);
  CHECK(map.status.message() ==
        absl::StrFormat(
            "names of functions from byte %d on are missing: those of all "
            "processes together have at most 64 MiB of memory",
            text.find("\n640 10 ") + 1));
  NameLimits none(NameLimits::kBytes, std::chrono::seconds(0));
  const PerfMap late = ReadPerfMap(ReadAtOf(text), addresses, none);
  CHECK(late.symbols.size() == 0);
  CHECK(late.status.message() ==
        "names of functions from byte 0 on are missing: to read those of all "
        "processes takes at most 5 s");
}

TEST_CASE("perf map: one process leaves something to the others") {
  NameLimits limits(1 << 20);
  CHECK(limits.TakeShare(1).bytes() == 1 << 20);
  CHECK(limits.bytes() == 0);
  limits.Return(1 << 20);
  for (std::size_t left = 20; left > 0; --left) {
    const std::uint64_t before = limits.bytes();
    NameLimits share = limits.TakeShare(left);
    CHECK(share.bytes() >= before / 8);
    CHECK(share.bytes() + limits.bytes() == before);
    CHECK_FALSE(share.TimeIsUp());
  }
  CHECK(limits.bytes() == 0);
}

}  // namespace
}  // namespace countrace::base
