#include "logformat/vocabularies/vocabulary.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "logformat/vocabularies/oprofile_files.h"

namespace countrace::logformat {
namespace {

Vocabulary Shipped(const std::string& model) {
  const auto read = ParseVocabulary(ShippedVocabulary(model), model);
  INFO(read.status().ToString());
  REQUIRE(read.ok());
  CHECK(read->model == model);
  return *read;
}

std::string Refused(const std::string& text) {
  const auto read = ParseVocabulary(text, "own.toml");
  REQUIRE_FALSE(read.ok());
  return std::string(read.status().message());
}

constexpr char kHead[] = "model = 'own'\narchitecture = 'x86_64'\n";

TEST_CASE("vocabulary: POWER2 has 4 units of 16 groups of 5, and 20 with SGA",
          "[vocabulary]") {
  const Vocabulary power2 = Shipped("power2");
  std::map<std::vector<std::string>, std::set<std::pair<int, int>>> places;
  std::set<std::uint32_t> counters;
  for (const VocabularyEvent& event : power2.events) {
    counters.insert(event.counters.begin(), event.counters.end());
    if (event.group) {
      places[event.units].insert(
          {static_cast<int>(*event.group), static_cast<int>(event.code)});
    }
  }
  CHECK(counters.size() == 22);
  CHECK(places.size() == 5);
  std::size_t slots = 0;
  for (const auto& [units, in_unit] : places) {
    CHECK(in_unit.size() == (units.size() == 4 ? 20 : 80));
    if (units.size() == 1) slots += in_unit.size();
  }
  CHECK(slots == 320);
}

TEST_CASE("vocabulary: the R10000 has 30 events, 16 on each counter",
          "[vocabulary]") {
  std::set<std::string> names;
  std::map<std::uint32_t, int> on;
  for (const VocabularyEvent& event : Shipped("r10000").events) {
    names.insert(event.name);
    for (const std::uint32_t counter : event.counters) ++on[counter];
  }
  CHECK(names.size() == 30);
  CHECK(on == std::map<std::uint32_t, int>{{0, 16}, {1, 16}});
}

TEST_CASE("vocabulary: POWER5 has the rows of Table 2, by every spelling",
          "[vocabulary]") {
  const Vocabulary power5 = Shipped("power5");
  struct Row {
    std::uint32_t counter;
    std::uint64_t code;
    int group;  // -1: any
    const char* name;
  };
  for (const Row& row :
       std::vector<Row>{{2, 71, 0, "PM_INST_CMPL"},
                        {5, 0, -1, "PM_INST_CMPL"},
                        {6, 0, -1, "PM_RUN_CYC"},
                        {3, 49, 1, "PM_GRP_CMPL"},
                        {1, 60, 5, "PM_GCT_NOSLOT_CYC"},
                        {2, 59, 5, "PM_GCT_NOSLOT_IC_MISS"},
                        {3, 46, 5, "PM_GCT_NOSLOT_SRQ_FULL"},
                        {4, 51, 5, "PM_GCT_NOSLOT_BR_MPRED"},
                        {2, 13, 28, "PM_CMPL_STALL_LSU"},
                        {4, 10, 28, "PM_CMPL_STALL_REJECT"},
                        {2, 10, 29, "PM_CMPL_STALL_DCACHE_MISS"},
                        {4, 8, 29, "PM_CMPL_STALL_ERAT_MISS"},
                        {2, 12, 30, "pm_cmplu_stall_fxu"},
                        {4, 7, 30, "PM_CMPL_STALL_DIV"},
                        {2, 11, 31, "PM_CMPL_STALL_FDIV"},
                        {4, 9, 31, "PM_CMPLU_STALL_FPU"},
                        {2, 59, 5, "pm_gct_epmty_ic_miss"}}) {
    CAPTURE(row.name, row.group);
    const auto rows = FindEvent(power5, row.name);
    CHECK(std::any_of(rows.begin(), rows.end(), [&row](const auto& event) {
      return event.code == row.code &&
             event.counters == std::vector<std::uint32_t>{row.counter} &&
             (event.group ? static_cast<int>(*event.group) : -1) == row.group;
    }));
  }
  REQUIRE(power5.groups.size() == 7);
  CHECK(power5.groups[5].number == 30);
  CHECK(power5.groups[5].mmcr == std::vector<std::string>{"0x0400C003",
                                                          "0x4000000822320232",
                                                          "0x00000001"});
  CHECK(Shipped("arm64").events.size() == 64);
  CHECK(FindEvent(Shipped("arm64"), "CPU_Cycles").at(0).code == 0x11);
}

TEST_CASE("vocabulary: a group's name chooses among the rows of an event",
          "[vocabulary]") {
  const Vocabulary power5 = Shipped("power5");
  // Group 0 has it on counter 2, and counter 5 counts it beside every group.
  for (const char* name : {"PM_INST_CMPL_G0", "pm_inst_cmpl_grp0"}) {
    const auto rows = FindEvent(power5, name);
    REQUIRE(rows.size() == 2);
    CHECK((rows[0].group == 0u && rows[1].group == 0u));
  }
  CHECK(FindEvent(power5, "PM_INST_CMPL_G7").empty());  // no such group
  CHECK(FindEvent(power5, "PM_GRP_CMPL_G0").empty());
  CHECK(FindEvent(power5, "_G0").empty());
}

TEST_CASE("vocabulary: a mistake is shown with its place and both numbers",
          "[vocabulary]") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[[event]]\nname = 'A'\ncode = 16\ncounters = [0, 3]\n[[event]]\n"
       "name = 'B'\ncode = 0x10\ncounters = [3]\n",
       "own.toml:7:1: B, code 0x10, and A, code 0x10, of line 3 are both on "
       "counter 3"},
      {"[[event]]\nname = 'A'\ncode = 1\ncounters = [0]\n[[event]]\n"
       "name = 'a'\ncode = 2\ncounters = [0]\n",
       "own.toml:7:1: a, code 0x2, and A, code 0x1, of line 3 are both on "
       "counter 0"},
      {"[[event]]\nname = 'A'\ncode = 1\ncounters = [0]\ngroup = 5\n",
       "own.toml:3:1: A, code 0x1, is in group 5, which no [[group]] with its "
       "MMCR describes"},
      {"[[group]]\nnumber = 5\n[[group]]\nnumber = 5\n",
       "own.toml:5:1: group 5 is in line 3 already"},
      {"[[event]]\nname = 'A'\ncode = 1\ncounters = [64]\n",
       "own.toml:6:12: counters must be a whole number from 0 to 63, not 64"},
      {"[[event]]\nname = 'A b'\ncode = 1\n",
       "own.toml:4:8: name must be a text of printable"},
      {"[[event]]\nname = 'A'\n", "the event A has no name, no code or no"},
      {"[[event]]\nname = 'A'\ncode = 1\n", "no code or no counters"},
      {"[[group]]\nnumber = 1\nmmcr = ['0x1', '0x3']\n",
       "own.toml:3:1: mmcr of group 1 has 2 of the 3 texts"},
      {"[[event]]\nname = 'A'\ncode = -1\n", "from 0 to 9223372036854775807"},
      {"colour = 1\n", "own.toml:3:1: `colour` is not known here"},
      {"event = 1\n", "event must be tables: [[event]]"},
      {"", "there is no model, no architecture or no [[event]]"},
  };
  for (const auto& [text, message] : cases) {
    CHECK_THAT(Refused(kHead + text), Catch::Contains(message));
  }
}

constexpr char kMasks[] =
    "name:zero type:mandatory default:0x0\n\t0x0 No unit mask\n";

TEST_CASE("oprofile_files: a folder is a vocabulary with its groups",
          "[vocabulary]") {
  const std::string folder = COUNTRACE_TEST_VOCABULARIES "/ppc64/small";
  const auto texts = ReadOprofileFolder(folder);
  REQUIRE(texts.ok());
  const auto text = OprofileAsVocabulary(*texts, folder);
  INFO(text.status().ToString());
  REQUIRE(text.ok());
  const auto read = ParseVocabulary(*text, "made.toml");
  INFO(read.status().ToString());
  REQUIRE(read.ok());
  CHECK(read->model == "small");
  CHECK(read->architecture == "ppc64");
  CHECK(read->cpu == "small");
  const auto run = FindEvent(*read, "PM_RUN_CYC_GRP1");
  REQUIRE(run.size() == 1);
  CHECK(run[0].name == "PM_RUN_CYC");
  CHECK(run[0].code == 0x10);
  CHECK(run[0].minimum == 10'000);
  CHECK(run[0].counters == std::vector<std::uint32_t>{0});
  CHECK(run[0].description ==
        "(Group 1 pm_slice0) Processor Cycles gated by the run latch");
  CHECK(FindEvent(*read, "PM_RUN_CYC").size() == 2);
  const auto loads = FindEvent(*read, "pm_data_from_l2_g44");
  REQUIRE(loads.size() == 1);
  CHECK(loads[0].mask == 0x3);
  CHECK(FindEvent(*read, "PM_DATA_FROM_L2_G44:0x2").at(0).mask == 2);
  CHECK(FindEvent(*read, "PM_DATA_FROM_L2_G44:4").empty());
  CHECK(loads[0].counters == std::vector<std::uint32_t>{0, 2});
  CHECK(loads[0].description == "(Group 44 pm_small) Data: loaded from L2");
  REQUIRE(read->groups.size() == 3);
  CHECK(read->groups[0].number == 1);
  CHECK(read->groups[0].name == "pm_slice0");
  CHECK(read->groups[0].mmcr ==
        std::vector<std::string>{"0x00000D0E", "0x4A5675AC", "0x00022001"});
  CHECK(read->groups[1].mmcr == std::vector<std::string>{"0x00000D12",
                                                         "0xC00000004A5675AC",
                                                         "0x00022001"});
  // Registers, but no number: it counts beside no other group.
  CHECK(FindEvent(*read, "cycles").at(0).group == read->groups[2].number);
}

TEST_CASE("oprofile_files: a mistake is shown with its place and both numbers",
          "[vocabulary]") {
  const std::string event =
      "event:0x10 counters:0 um:zero minimum:10000 name:PM_A_GRP1 : a\n";
  const std::string mapping = "event:0x10 mmcr0:0xD mmcr1:0x4 mmcra:0x2\n";
  const auto refused = [](const OprofileTexts& texts) {
    const auto text = OprofileAsVocabulary(texts, "d");
    REQUIRE_FALSE(text.ok());
    return std::string(text.status().message());
  };
  using Catch::Contains;
  CHECK_THAT(refused({event + event, kMasks, mapping}),
             Contains("d/events:2:1: event 0x10 is in line 1 already"));
  CHECK_THAT(refused({"\n" + event, kMasks, ""}),
             Contains("d/events:2:1: event 0x10 of group 1 has no MMCR: "
                      "event_mappings has 0 other events"));
  CHECK_THAT(
      refused({event + "event:0x11 counters:1 um:zero minimum:1 name:PM_B_GRP1 "
                       ": b\n",
               kMasks, mapping + "event:0x11 mmcr0:0xE mmcr1:0x4 mmcra:0x2\n"}),
      Contains("d/event_mappings:2:1: event 0x11 of group 1 has MMCR "
               "0x0000000E 0x00000004 0x00000002, and earlier events of the "
               "group have 0x0000000D 0x00000004 0x00000002"));
  CHECK_THAT(refused({event, kMasks, mapping + mapping}),
             Contains("d/event_mappings:2:1: 0x10 is in line 1 already"));
  CHECK_THAT(refused({event, kMasks,
                      "event:0x10 mmcr0:0x1D0000000 mmcr1:0x4 mmcra:0x2\n"}),
             Contains("mmcr0:0x1D0000000 is no number of at most 0xffffffff"));
  CHECK_THAT(refused({event, "name:one type:exclusive default:0x4\n\t0x1 a\n",
                      mapping}),
             Contains("d/unit_masks:1:1: default 0x4 is none of its masks, "
                      "which have the bits 0x1"));
  CHECK_THAT(refused({event, "name:one type:exclusive default:0x1\n\t0x1 a\n",
                      mapping}),
             Contains("event 0x10 has the unit mask \"zero\", none of the 1"));
  CHECK_THAT(refused({"event:0x10 counters:64 um:zero minimum:1 name:A : a\n",
                      kMasks, ""}),
             Contains("counter \"64\" is no number from 0 to 63"));
  CHECK_THAT(refused({"include:i386/arch_perfmon\n", kMasks, ""}),
             Contains("include: is not followed"));
  CHECK_THAT(refused({"", kMasks, ""}), Contains("d/events:1:1: no event"));
}

TEST_CASE("oprofile_files: \"all\" counters are those of the file's events",
          "[vocabulary]") {
  const auto text = OprofileAsVocabulary(
      {"event:1 counters:all um:zero minimum:6000 name:ANY : any \"quoted\"\n"
       "event:2 counters:1 um:zero minimum:6000 name:ONE : one\n"
       "event:0X3 counters:3,0 um:zero minimum:6000 name:TWO : two\n",
       kMasks, ""},
      "/x/x86-64/family");
  REQUIRE(text.ok());
  const auto read = ParseVocabulary(*text, "made.toml");
  REQUIRE(read.ok());
  CHECK(read->architecture == "x86_64");
  CHECK(read->events[0].counters == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(read->events[0].description == "any \"quoted\"");
  CHECK(read->events[2].counters == std::vector<std::uint32_t>{0, 3});
}

}  // namespace
}  // namespace countrace::logformat
