// What counts under each setting of the POWER2 monitor, and its spelling; which
// processes each text marks.
#include "logformat/rules/gating.h"

#include <fnmatch.h>

#include <bitset>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>

#include "logformat/mark_spec.h"

namespace countrace::logformat {
namespace {

// Table 1 of the paper by hand: the counted (PR, PM) of each setting that
// counts anything. PR = 1 is user code.
const std::map<std::string, std::set<std::string>> kTable = {
    {"00000", {"00", "01", "10", "11"}},
    {"00001", {"01", "11"}},
    {"00010", {"00", "10"}},
    {"00100", {"00", "01"}},
    {"01000", {"10", "11"}},
    {"00101", {"01"}},
    {"00110", {"00"}},
    {"01001", {"11"}},
    {"01010", {"10"}}};

// The paper's text: each bit stops the counters in one state.
bool CountsByTheText(unsigned bits, bool pr, bool pm) {
  const bool dis = bits & 16, dp = bits & 8, du = bits & 4, dms = bits & 2,
             dmr = bits & 1;
  return !(dis || (dp && !pr) || (du && pr) || (dms && pm) || (dmr && !pm));
}

TEST_CASE("gating: all 32 settings of Table 1, as bits and as words",
          "[logformat]") {
  std::set<std::string> live;
  for (unsigned bits = 0; bits < 32; ++bits) {
    const std::string text = std::bitset<5>(bits).to_string();
    const auto gating = ParseGating(text);
    REQUIRE(gating);
    const auto row = kTable.find(text);
    std::set<std::string> counted;
    for (const bool pr : {false, true}) {
      for (const bool pm : {false, true}) {
        INFO(text << " PR=" << pr << " PM=" << pm);
        CHECK(gating->Counts(pr, pm) == CountsByTheText(bits, pr, pm));
        if (gating->Counts(pr, pm)) {
          counted.insert(std::string(pr ? "1" : "0") + (pm ? "1" : "0"));
        }
      }
    }
    CHECK(counted ==
          (row == kTable.end() ? std::set<std::string>() : row->second));
    CHECK(gating->nothing() == counted.empty());
    if (!counted.empty()) live.insert(GatingText(*gating));
    // Words, `.session` and bits mean the same.
    CHECK(*ParseGating(GatingText(*gating)) == *gating);
    CHECK(GatingOfBits(GatingBits(*gating)) == *gating);
    CHECK(GatingBits(*gating) != 0);
    CHECK((GatingText(*gating) == "none") == counted.empty());
  }
  CHECK(live.size() == 9);
}

TEST_CASE("gating: words in any order; what is no setting", "[logformat]") {
  CHECK(GatingText(*ParseGating("marked,user")) == "user,marked");
  CHECK(GatingText(*ParseGating("user,kernel,marked")) == "marked");
  CHECK(GatingText(*ParseGating("user,kernel")) == "all");
  CHECK(GatingText(*ParseGating("marked,unmarked")) == "all");
  CHECK(GatingText(*ParseGating("kernel,marked,unmarked")) == "kernel");
  for (const char* text : {"", "users", "user,", ",user", "user,,kernel", "2",
                           "0000", "000000", "0000x", "all,user", "none,all"}) {
    INFO(text);
    CHECK_FALSE(ParseGating(text));
  }
}

TEST_CASE("gating: the modifier of an event's name", "[logformat]") {
  const auto mode = [](const char* event) {
    const EventMode found = ModeOfEvent(event);
    return std::string(found.user ? "u" : "") + (found.kernel ? "k" : "");
  };
  CHECK(mode("page-faults") == "uk");
  CHECK(mode("page-faults:u") == "u");
  CHECK(mode("cycles:k") == "k");
  CHECK(mode("cycles:uk") == "uk");
  CHECK(mode("cpu/event=0x3c/") == "uk");
  CHECK(mode("cpu/event=0x3c/:u") == "u");
  CHECK(mode("cpu/event=0x3c/k") == "k");
  CHECK(mode("sched:sched_switch") == "uk");
  CHECK(mode("") == "uk");
}

TEST_CASE("marks: texts and their canonical spelling", "[logformat]") {
  const auto spelled = [](const char* text) {
    const auto mark = ParseMark(text);
    return mark.ok() ? MarkText(*mark) : std::string("refused");
  };
  CHECK(spelled("17") == "17");
  CHECK(spelled("self") == "self");
  CHECK(spelled("redis*") == "comm:redis*");
  CHECK(spelled("comm:17") == "comm:17");
  CHECK(spelled("user:www-data") == "user:www-data");
  CHECK(spelled("cgroup:/a/b/") == "cgroup:/a/b");
  CHECK(spelled("cgroup:/") == "cgroup:/");
  CHECK(spelled("cgroup:4f2a") == "cgroup:4f2a");
  for (const char* text :
       {"", "0", "99999999999", "comm:", "user:", "cgroup:", "pid:4711",
        "cgroup:a/b", "cgroup:/a/../b", "a\nb", "0123456789abcdef"}) {
    INFO(text);
    CHECK(spelled(text) == "refused");
  }
  CHECK(spelled("0123456789abcde") == "comm:0123456789abcde");
  CHECK(ParseMarks({"1,2", "sh"})->size() == 3);
  CHECK_FALSE(ParseMarks({"1,2,3,4,5,6,7,8,9"}).ok());
}

TEST_CASE("marks: a compiled glob matches what fnmatch(3) matches",
          "[logformat][property]") {
  std::mt19937 random(1994);
  const auto text_of = [&random](const std::string& letters, unsigned most) {
    std::string text;
    for (auto i = random() % (most + 1); i > 0; --i) {
      text += letters[random() % letters.size()];
    }
    return text;
  };
  unsigned matches = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string glob = text_of("ab*?", 8);
    const std::string name = text_of("abc", COUNTRACE_COMM_BYTES - 1);
    const auto mark = ParseMark("comm:" + glob);
    if (glob.empty()) continue;
    REQUIRE(mark.ok());
    char comm[COUNTRACE_COMM_BYTES] = {};
    std::memcpy(comm, name.data(), name.size());
    const bool theirs = fnmatch(glob.c_str(), name.c_str(), 0) == 0;
    INFO(glob << " on " << name);
    REQUIRE((countrace_comm_glob_matches(&mark->glob, comm) != 0) == theirs);
    matches += theirs ? 1 : 0;
  }
  CHECK(matches > 500);
}

}  // namespace
}  // namespace countrace::logformat
