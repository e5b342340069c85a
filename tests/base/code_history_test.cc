// Which function had an address when, against a model of each byte and instant.
#include "base/code/code_history.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/property_runs.h"

namespace countrace::base {
namespace {

std::string NameAt(const CodeHistory& history, std::uint64_t address,
                   std::uint64_t time_ns) {
  std::string name;
  for (const std::size_t one : history.At(address)) {
    const TimedFunction& function = history[one];
    if (time_ns >= function.from_ns && time_ns < function.until_ns) {
      CHECK(name.empty());  // one at a time
      name = function.name;
    }
  }
  return name;
}

TEST_CASE("code history: each address has the function of its time") {
  constexpr std::uint64_t kAddresses = 40, kSteps = 60;
  for (unsigned seed = 0; seed < test_support::PropertyRuns(100u); ++seed) {
    std::mt19937 random(seed);
    CodeHistory history;
    // Function by address: 0 is none. By instant.
    std::vector<std::map<std::uint64_t, std::string>> model;
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> places;
    std::map<std::uint64_t, std::string> now;
    for (std::uint64_t time = 1; time <= kSteps; ++time) {
      const std::uint64_t begin = random() % kAddresses;
      const std::uint64_t bytes = random() % 9;
      const bool removes = random() % 4 == 0;
      if (removes) {
        history.Remove(begin, bytes, time);
      } else {
        history.Add(begin, bytes, std::to_string(time), time);
      }
      // The whole function of each byte is gone.
      for (std::uint64_t at = begin; at < begin + bytes; ++at) {
        const std::string gone = now[at];
        if (gone.empty()) continue;
        for (auto& [address, name] : now) {
          if (name == gone) name.clear();
        }
      }
      for (std::uint64_t at = begin; !removes && at < begin + bytes; ++at) {
        now[at] = std::to_string(time);
      }
      model.push_back(now);
    }
    history.Sort();
    INFO("seed " << seed);
    for (std::uint64_t time = 1; time <= kSteps; ++time) {
      for (std::uint64_t at = 0; at < kAddresses + 9; ++at) {
        REQUIRE(NameAt(history, at, time) == model[time - 1][at]);
      }
    }
  }
}

TEST_CASE("code history: what wraps around, and has no bytes, is no code") {
  CodeHistory history;
  history.Add(~std::uint64_t{0} - 5, 10, "wraps", 1);
  history.Add(16, 0, "empty", 1);
  history.Sort();
  CHECK(history.size() == 0);
  CHECK(history.At(3).empty());
}

}  // namespace
}  // namespace countrace::base
