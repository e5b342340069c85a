// The one statement of what a trace lacks: every cause has its words, its
// number in JSON and its effect on --fail-on-loss.
#include "logformat/loss.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "logformat/description/trace_description.h"

namespace countrace::logformat {
namespace {

struct Row {
  std::uint64_t Loss::*number;
  std::string one, three;
  bool is_loss;
};

// By the name in JSON. A kind of loss without a row fails the tests below.
const std::map<std::string, Row> kRows = {
    {"discarded_events",
     {&Loss::discarded_events, "1 event record was lost",
      "3 event records were lost", true}},
    {"overwritten",
     {&Loss::overwritten, "1 older event record was overwritten",
      "3 older event records were overwritten", false}},
    {"discarded_packets",
     {&Loss::discarded_packets, "1 packet was lost", "3 packets were lost",
      true}},
    {"clock_errors",
     {&Loss::clock_errors, "1 record's time went back",
      "3 records' times went back", true}},
    {"not_joined",
     {&Loss::not_joined, "1 process with hooks did not join",
      "3 processes with hooks did not join", true}},
    {"lost_samples",
     {&Loss::lost_samples, "1 sample was lost", "3 samples were lost", true}},
    {"unavailable",
     {&Loss::unavailable, "1 request was not recorded",
      "3 requests were not recorded", true}},
    {"went_on",
     {&Loss::went_on, "1 process of the command goes on, unrecorded",
      "3 processes of the command go on, unrecorded", true}},
    {"left_out_ms",
     {&Loss::left_out_ms, "1 ms without all calls or samples, for --max-cpu",
      "3 ms without all calls or samples, for --max-cpu", false}},
    {"cut_texts",
     {&Loss::cut_texts, "1 long text was cut", "3 long texts were cut", true}},
    {"damaged",
     {&Loss::damaged, "the trace is incomplete", "the trace is incomplete",
      true}},
    {"unfinished",
     {&Loss::unfinished, "the recording is not finished",
      "the recording is not finished", false}}};

std::uint64_t NumberOf(const LossStatement& statement,
                       const std::string& name) {
  for (const auto& [of, number] : statement.numbers) {
    if (name == of) return number;
  }
  FAIL(name << " is not in JSON");
  return 0;
}

TEST_CASE("loss: without any, nothing was lost", "[loss]") {
  const LossStatement statement = StateLoss({});
  CHECK(statement.text == "nothing was lost");
  CHECK(statement.complete);
  CHECK_FALSE(statement.is_loss);
  CHECK(statement.numbers.size() == kRows.size());
}

TEST_CASE("loss: every kind has its words, its number, its effect", "[loss]") {
  for (const auto& [of, number] : StateLoss({}).numbers) {
    const std::string name = of;
    INFO(name);
    REQUIRE(kRows.contains(name));
    const Row& row = kRows.at(name);
    for (const std::uint64_t count : {1, 3}) {
      Loss loss;
      loss.*row.number = count;
      const LossStatement statement = StateLoss(loss);
      CHECK(statement.text == (count == 1 ? row.one : row.three));
      CHECK(statement.is_loss == row.is_loss);
      CHECK_FALSE(statement.complete);
      CHECK(NumberOf(statement, name) == count);
    }
  }
}

TEST_CASE("loss: every number of Loss is in the statement", "[loss]") {
  // The numbers, the map and the messages: a new field is seen here.
  CHECK(sizeof(Loss) == kRows.size() * sizeof(std::uint64_t) +
                            sizeof(Loss::by_cause) + sizeof(Loss::messages));
}

TEST_CASE("loss: every cause of a discarded record is named", "[loss]") {
  for (std::size_t cause = 0; cause < kDiscardCauses; ++cause) {
    std::array<std::uint64_t, kDiscardCauses> discarded{};
    discarded[cause] = 1234;
    Loss loss;
    loss.AddDiscarded(discarded);
    const LossStatement statement = StateLoss(loss);
    CHECK(statement.text == std::string("1,234 event records were lost (") +
                                kDiscardCauseNames[cause] + " 1,234)");
    CHECK(statement.is_loss);
    CHECK(loss.by_cause.at(kDiscardCauseNames[cause]) == 1234);
  }
}

TEST_CASE("loss: every cause that the trace's description may hold is counted",
          "[loss]") {
  const std::map<std::string, std::string> names = {
      {kKernelRecursion, "discarded_events"},
      {kNotJoined, "not_joined"},
      {kLostSamples, "lost_samples"},
      {kUnavailable, "unavailable"},
      {kWentOn, "went_on"},
      {kLeftOut, "left_out_ms"},
      {kCutTexts, "cut_texts"}};
  for (const char* cause : kNotRecordedCauses) {
    INFO(cause);
    REQUIRE(names.contains(cause));
    const NotRecorded what = {cause, 3, "why"};
    CHECK(ParseNotRecordedText(NotRecordedText(what)).has_value());
    Loss loss;
    loss.Add(what);
    const LossStatement statement = StateLoss(loss);
    CHECK(statement.is_loss == (cause != std::string(kLeftOut)));
    CHECK(NumberOf(statement, names.at(cause)) == 3);
    CHECK(loss.by_cause.size() == (cause == kKernelRecursion ? 1 : 0));
  }
}

TEST_CASE("loss: what was overwritten is no loss, and named apart", "[loss]") {
  Loss loss;
  loss.AddDiscarded("trace_full", 1000);
  loss.overwritten = 1000;
  CHECK(StateLoss(loss).text == "1,000 older event records were overwritten");
  CHECK_FALSE(StateLoss(loss).is_loss);
  loss.AddDiscarded("trace_full", 2);
  loss.AddDiscarded("disk_full", 3);
  loss.went_on = 1;
  CHECK(StateLoss(loss).text ==
        "5 event records were lost (disk_full 3, trace_full 2), 1,000 older "
        "event records were overwritten, 1 process of the command goes on, "
        "unrecorded");
  CHECK(StateLoss(loss).is_loss);
}

TEST_CASE("loss: a long list fits into the description, with every count",
          "[loss]") {
  std::vector<NotRecorded> all;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const char* cause = kNotRecordedCauses[i % std::size(kNotRecordedCauses)];
    all.push_back({cause, i, "text " + std::to_string(i)});
    sum += i;
  }
  const std::vector<NotRecorded> fit = FitNotRecorded(all);
  CHECK(fit.size() == kMaxNotRecorded);
  CHECK(fit.front().text == "text 1");
  for (const NotRecorded& what : fit) {
    CHECK(ParseNotRecordedText(NotRecordedText(what)).has_value());
    sum -= what.count;
  }
  CHECK(sum == 0);
}

}  // namespace
}  // namespace countrace::logformat
