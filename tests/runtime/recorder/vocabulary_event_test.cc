#include "runtime/recorder/events/vocabulary_event.h"

#include <linux/perf_event.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/recorder/events/event_name.h"
#include "runtime/recorder/request/sample_request.h"

namespace countrace::runtime {
namespace {

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

// The user's file for this machine, as this program's only one.
void UseOwnFile() {
  static bool used = false;
  if (used) return;
  used = true;
  utsname names{};
  REQUIRE(uname(&names) == 0);
  const std::string path = absl::StrFormat("/tmp/own_events.%d.toml", getpid());
  std::ofstream(path) << absl::StrFormat(
      "model = 'own'\ntitle = 'Own'\narchitecture = '%s'\n"
      "counters = [0, 1]\n"
      "event = [\n"
      "  { name = 'own.loads', code = 0xd0, mask = 0x81, masks = [0x82], "
      "mask_bits = 3, minimum = 10000 },\n"
      "  { name = 'own.first', code = 0x01, counters = [0] },\n"
      "  { name = 'own.also', code = 0x02, counters = [0] },\n"
      "  { name = 'own.cycles', aliases = ['cycles'], code = 0x3c, "
      "counters = [0, 1, 32] },\n"
      "]\n",
      names.machine);
  const absl::Status status = UseEventFile(path);
  INFO(status.ToString());
  CHECK(status.ok());
  unlink(path.c_str());
}

TEST_CASE("vocabulary_event: an event of another machine is named with it",
          "[recorder][vocabulary]") {
  const auto event = ParseEvent("PM_GCT_NOSLOT_CYC");
  REQUIRE_FALSE(event.ok());
  using Catch::Contains;
  CHECK_THAT(Message(event.status()),
             Contains("\"PM_GCT_NOSLOT_CYC\" is one of IBM POWER5 (ppc64, "
                      "POWER5*), and this machine is "));
  CHECK_THAT(Message(event.status()), Contains("doctor --model power5"));
  CHECK_THAT(Message(ParseEvent("no_such_event").status()),
             Contains("no such event"));
}

TEST_CASE("vocabulary_event: the user's file names raw events of this machine",
          "[recorder][vocabulary]") {
  UseOwnFile();
  const auto event = ParseEvent("OWN.loads:u");
  INFO(event.status().ToString());
  REQUIRE(event.ok());
  CHECK(event->name == "OWN.loads:u");
  CHECK(event->type == PERF_TYPE_RAW);
  CHECK(event->config == 0x81d0);
  CHECK(event->exclude_kernel);
  CHECK(ParseEvent("own.loads:0x82:k")->config == 0x82d0);
  CHECK(ParseEvent("own.loads:2")->config == 0x2d0);
  for (const char* wrong : {"own.loads:0x4", "own.loads:0x83", "own.loads:x"}) {
    CHECK_THAT(Message(ParseEvent(wrong).status()),
               Catch::Contains("can be 0x81, 0x82, bits of 0x3"));
  }
  // perf's names come first.
  CHECK(ParseEvent("cycles")->type == PERF_TYPE_HARDWARE);
}

TEST_CASE("vocabulary_event: a period below the event's least is refused",
          "[recorder][vocabulary]") {
  UseOwnFile();
  const auto request = ParseSampleRequest("every=9999:own.loads");
  REQUIRE_FALSE(request.ok());
  CHECK_THAT(Message(request.status()),
             Catch::Contains("the period 9999 is less than 10000"));
  CHECK(ParseSampleRequest("every=10000:own.loads").ok());
  CHECK(ParseSampleRequest("every=1:own.first").ok());
}

TEST_CASE("vocabulary_event: what the files say of events together",
          "[recorder][vocabulary]") {
  UseOwnFile();
  CHECK(PredictTogether({"own.first", "own.loads:u"}) == true);
  CHECK(PredictTogether({"own.first", "own.also"}) == false);
  CHECK(PredictTogether({"cycles:k", "own.first", "own.loads"}) == true);
  CHECK(PredictTogether({"own.first", "branch-misses"}) == std::nullopt);
  CHECK(DescribeRows(RowsHere("own.also")) == " (counter 0)");
}

TEST_CASE("vocabulary_event: a model is a shipped one or a file",
          "[recorder][vocabulary]") {
  CHECK(LoadVocabulary("power5").ok());
  CHECK_THAT(Message(LoadVocabulary("power6").status()),
             Catch::Contains("arm64, power2, power5, r10000"));
  CHECK_THAT(Message(LoadVocabulary("./none.toml").status()),
             Catch::Contains("none.toml"));
}

}  // namespace
}  // namespace countrace::runtime
