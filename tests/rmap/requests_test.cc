// Requests: calls of several threads that carry the same value, each with the
// times that the report has of it, and limits that hold the truth where records
// were lost.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "logformat/jump_hook.h"
#include "rmap/requests/join_rule.h"
#include "rmap/requests/joined_calls.h"
#include "rmap/slowest_calls.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::HookKind;
using logformat::HookOrigin;
using logformat::PayloadType;
using test_support::LostRecords;
using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;

constexpr std::uint32_t kAsk = 1, kServe = 2, kInner = 3, kDepth = 4;

Requests Join(logformat::TraceReader& trace, const JoinRule& rule,
              std::size_t most_calls = kMostCalls) {
  auto requests = JoinCalls(trace, rule, nullptr, most_calls);
  REQUIRE(requests.ok());
  return *std::move(requests);
}
Requests Join(logformat::TraceReader& trace, const std::string& value) {
  return Join(trace, JoinRule{value, {}});
}
std::vector<std::string> Ids(const Requests& requests) {
  std::vector<std::string> ids;
  for (const Requests::Of& of : requests.all) ids.push_back(of.id);
  return ids;
}

// A program with a queue: thread 7 sends, thread 8 serves.
MemoryTrace Program() {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kCommand;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().begin_ns = 1000;
  const std::vector<PayloadType> one{PayloadType::kUnsigned};
  trace.AddHook(kAsk, HookKind::kSegment, "client", "ask", HookOrigin::kProgram,
                one);
  trace.AddHook(kServe, HookKind::kSegment, "server", "serve",
                HookOrigin::kProgram, one);
  trace.AddHook(kInner, HookKind::kSegment, "server", "look",
                HookOrigin::kProgram, one);
  trace.AddHook(kDepth, HookKind::kPoint, "queue", "depth",
                HookOrigin::kProgram, one);
  return trace;
}

MemoryTrace TwoRequests() {
  MemoryTrace trace = Program();
  trace.HookRecord(1000, {7, 7, kAsk, false, 0, {51}});
  trace.HookRecord(1010, {7, 7, kAsk, true});
  trace.HookRecord(1015, {7, 7, kDepth, false, 0, {52}});
  trace.HookRecord(1020, {7, 7, kAsk, false, 0, {52}});
  trace.HookRecord(1030, {7, 7, kAsk, true});
  trace.HookRecord(1100, {7, 8, kServe, false, 0, {51}});
  trace.HookRecord(1110, {7, 8, kInner, false, 0, {52}});  // another's number
  trace.HookRecord(1150, {7, 8, kInner, true});
  trace.HookRecord(1200, {7, 8, kServe, true});
  trace.HookRecord(1210, {7, 8, kServe, false, 0, {52}});
  trace.HookRecord(1300, {7, 8, kServe, true});
  return trace;
}

TEST_CASE("requests: calls of two threads with one value are one request",
          "[rmap][requests]") {
  MemoryTrace trace = TwoRequests();
  const Requests requests = Join(trace, "arg0");
  REQUIRE(Ids(requests) == std::vector<std::string>{"51", "52"});
  const RequestSums first = SumsOf(requests, 0);
  CHECK(first.begin_ns == 1000);
  CHECK(first.end_ns == 1200);
  CHECK(first.between_ns == 90);
  CHECK(first.threads == 2);
  CHECK(first.calls.value == 2);
  CHECK(first.calls.is_exact());
  CHECK(first.duration_ns.is_exact());
  CHECK_FALSE(requests.has_kernel);
  // What is inside a call of the first is not the second's, and a point's
  // nameless value is none of a request.
  const RequestSums second = SumsOf(requests, 1);
  CHECK(second.calls.value == 2);
  CHECK(second.begin_ns == 1020);
  CHECK(requests.without_value == 0);
}

TEST_CASE("requests: a file says which hooks count, points too",
          "[rmap][requests]") {
  MemoryTrace trace = TwoRequests();
  const auto rule = ParseJoinLines(
      "# a comment\nclient:*  arg0\n\nqueue:depth arg0 # why\n", "by.join");
  REQUIRE(rule.ok());
  const Requests requests = Join(trace, *rule);
  REQUIRE(Ids(requests) == std::vector<std::string>{"51", "52"});
  CHECK(SumsOf(requests, 0).calls.value == 1);
  const RequestSums second = SumsOf(requests, 1);
  CHECK(second.calls.value == 2);
  CHECK(second.begin_ns == 1015);
  CHECK(requests.begin(1)->is_point);
}

TEST_CASE("requests: texts are values", "[rmap][requests]") {
  logformat::TraceInfo info;
  MemoryTrace trace;
  trace.AddHook(kAsk, HookKind::kSegment, "client", "ask", HookOrigin::kProgram,
                {PayloadType::kString});
  const auto values = JoinValues::Bind({"arg0", {}}, trace.info());
  REQUIRE(values.ok());
  std::vector<std::byte> bytes(sizeof(std::uint64_t));
  for (const char c : std::string("GET /\xff")) bytes.push_back(std::byte(c));
  bytes.push_back(std::byte{0});
  logformat::EventRecord record{};
  record.stream_class = logformat::StreamClass::kThread;
  record.event_id = kAsk * 2;
  record.bytes = bytes;
  CHECK(values->Of(record, kAsk) == "GET /\xff");
  bytes.resize(sizeof(std::uint64_t));
  bytes.push_back(std::byte{0});
  record.bytes = bytes;
  CHECK(values->Of(record, kAsk) == std::nullopt);
}

TEST_CASE("requests: a wrong rule says what there is", "[rmap][requests]") {
  MemoryTrace trace = Program();
  const auto message = [&](const JoinRule& rule) {
    const auto values = JoinValues::Bind(rule, trace.info());
    REQUIRE_FALSE(values.ok());
    return std::string(values.status().message());
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(message({"arg1", {}}), Contains("no hook of the trace has a value "
                                             "`arg1` at its enter; did you mean"
                                             " `arg0`?; there are arg0"));
  CHECK_THAT(message({"x.join", {{"client:*", "arg0", 1}, {"srv", "arg0", 3}}}),
             Contains("x.join:3:1: the trace has no hook `srv`"));
  CHECK_THAT(message({"x.join", {{"server:*", "id", 2}}}),
             Contains("x.join:2:1: no hook `server:*` has a value `id` at its "
                      "enter; the trace's hooks have arg0"));
  for (const char* const text : {"", "# nothing\n"}) {
    CHECK_FALSE(ParseJoinLines(text, "x.join").ok());
  }
  for (const char* const text : {"a:b", "a:b arg0 more", "a:b 'x'"}) {
    const auto rule =
        ParseJoinLines(std::string("c:d arg0\n") + text, "x.join");
    REQUIRE_FALSE(rule.ok());
    CHECK_THAT(std::string(rule.status().message()),
               Contains("x.join:2:1: expected hooks and the name"));
  }
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "client:* arg0\n";
  const auto too_many = ParseJoinLines(many, "x.join");
  REQUIRE_FALSE(too_many.ok());
  CHECK_THAT(std::string(too_many.status().message()),
             Contains("x.join names hooks in 1001 lines, at most 1000"));
  const auto no_file = ReadJoinRule("./no/such.join");
  REQUIRE_FALSE(no_file.ok());
  CHECK_THAT(std::string(no_file.status().message()),
             Contains("./no/such.join"));
}

TEST_CASE("requests: beyond the limit, calls are counted as lost",
          "[rmap][requests]") {
  MemoryTrace trace = TwoRequests();
  const Requests requests = Join(trace, JoinRule{"arg0", {}}, 3);
  CHECK(requests.left_out == 1);
  REQUIRE(requests.lost.size() == 1);
  CHECK(requests.lost[0].begin_ns == 1210);
  const RequestSums second = SumsOf(requests, 1);
  CHECK(second.calls.value == 1);
  CHECK(second.duration_ns.least == 10);
}

TEST_CASE("requests: a call without its enter has what is inside it",
          "[rmap][requests][loss]") {
  MemoryTrace trace = Program();
  trace.HookRecord(1110, {7, 8, kInner, false, 0, {52}});
  trace.HookRecord(1150, {7, 8, kInner, true});
  trace.HookRecord(1200, {7, 8, kServe, true});  // it began before the trace
  trace.HookRecord(1210, {7, 8, kServe, false, 0, {53}});
  trace.HookRecord(1300, {7, 8, kServe, true});
  const Requests requests = Join(trace, "arg0");
  CHECK(Ids(requests) == std::vector<std::string>{"53"});
  CHECK(requests.without_value == 2);
}

TEST_CASE("requests: those that a call from before the trace may be of",
          "[rmap][requests]") {
  MemoryTrace trace = Program();
  trace.HookRecord(1000, {7, 8, kServe, false, 0, {51}});
  trace.HookRecord(1010, {7, 8, kServe, true});
  trace.HookRecord(1015, {7, 7, kAsk, true});  // it began before the trace
  trace.HookRecord(1100, {7, 8, kServe, false, 0, {52}});
  trace.HookRecord(1200, {7, 8, kServe, true});
  const Requests requests = Join(trace, "arg0");
  REQUIRE(Ids(requests) == std::vector<std::string>{"51", "52"});
  CHECK(requests.sums[0].may_have_more);
  CHECK_FALSE(requests.sums[0].lost_inside);
  CHECK(requests.sums[0].calls.least == 1);
  CHECK_FALSE(requests.sums[1].may_have_more);
  CHECK(requests.without_value == 1);
}

TEST_CASE("requests: a call without a value does not hide those inside it",
          "[rmap][requests]") {
  MemoryTrace trace = Program();
  trace.HookRecord(1000, {7, 8, kServe, false, 0, {}});
  trace.HookRecord(1010, {7, 8, kInner, false, 0, {52}});
  trace.HookRecord(1020, {7, 8, kInner, true});
  trace.HookRecord(1030, {7, 8, kServe, true});
  const Requests requests = Join(trace, "arg0");
  CHECK(Ids(requests) == std::vector<std::string>{"52"});
  CHECK(requests.without_value == 1);
}

TEST_CASE("requests: a pause cuts a call, which stays of its request",
          "[rmap][requests][pauses]") {
  MemoryTrace trace = Program();
  trace.mutable_info().begin_ns = 900;
  trace.HookRecord(900, {7, 8, kDepth, false, 0, {1}});
  trace.HookRecord(1000, {7, 8, kServe, false, 0, {51}});
  trace.HookRecord(1010, {7, 8, kInner, false, 0, {53}});  // inside it
  // The first record behind the pause is of another call of the hook.
  trace.HookRecord(1200, {7, 9, kServe, false, 0, {52}});
  trace.HookRecord(1210, {7, 8, kInner, true});
  trace.HookRecord(1230, {7, 8, kServe, true});
  trace.HookRecord(1240, {7, 9, kServe, true});
  trace.mutable_info().pauses = {{910, 950}, {1100, 1150}};
  const Requests requests = Join(trace, "arg0");
  REQUIRE(Ids(requests) == std::vector<std::string>{"51", "52"});
  CHECK(requests.without_value == 0);
  const RequestSums& first = requests.sums[0];
  CHECK(first.calls.value == 1);
  CHECK(first.begin_ns == 1000);
  CHECK(first.duration_ns.value == 230);
  CHECK(first.between_ns == 50);
  REQUIRE(requests.end(0) - requests.begin(0) == 2);
  CHECK(requests.begin(0)[1].goes_on);
  CHECK(requests.sums[1].calls.value == 1);
}

TEST_CASE("requests: what is inside a call that began in a pause is none",
          "[rmap][requests][pauses]") {
  MemoryTrace trace = Program();
  trace.mutable_info().begin_ns = 900;
  trace.HookRecord(900, {7, 8, kDepth, false, 0, {1}});
  trace.HookRecord(920, {7, 8, kServe, false, 0, {51}});
  trace.HookRecord(1010, {7, 8, kInner, false, 0, {53}});
  trace.HookRecord(1020, {7, 8, kInner, true});
  // It goes on behind another pause.
  trace.HookRecord(1210, {7, 8, kInner, false, 0, {54}});
  trace.HookRecord(1220, {7, 8, kInner, true});
  trace.HookRecord(1230, {7, 8, kServe, true});
  trace.HookRecord(1240, {7, 8, kServe, false, 0, {52}});
  trace.HookRecord(1250, {7, 8, kServe, true});
  trace.mutable_info().pauses = {{910, 950}, {1100, 1150}};
  const Requests requests = Join(trace, "arg0");
  CHECK(Ids(requests) == std::vector<std::string>{"52"});
  CHECK(requests.without_value == 1);
}

TEST_CASE("requests: 64 bits are one value, with a sign or without",
          "[rmap][requests]") {
  constexpr std::uint32_t kSigned = 14;
  MemoryTrace trace = Program();
  trace.AddHook(kSigned, HookKind::kSegment, "client", "signed",
                HookOrigin::kProgram, {PayloadType::kInt});
  const std::uint64_t bits = ~std::uint64_t{0} - 4;
  trace.HookRecord(1000, {7, 7, kSigned, false, 0, {bits}});
  trace.HookRecord(1010, {7, 7, kSigned, true});
  trace.HookRecord(1020, {7, 8, kServe, false, 0, {bits}});
  trace.HookRecord(1030, {7, 8, kServe, true});
  trace.HookRecord(1040, {7, 8, kServe, false, 0, {5}});
  trace.HookRecord(1050, {7, 8, kServe, true});
  const Requests requests = Join(trace, "arg0");
  REQUIRE(Ids(requests) == std::vector<std::string>{"-5", "5"});
  CHECK(requests.sums[0].calls.value == 2);
}

TEST_CASE("requests: calls of two stacks stay of their requests",
          "[rmap][requests][stacks]") {
  constexpr std::uint32_t kStack = 13;
  MemoryTrace trace = Program();
  trace.AddHook(kStack, HookKind::kPoint, logformat::kJumpProvider,
                logformat::kStackName, HookOrigin::kProgram,
                {PayloadType::kUnsigned, PayloadType::kUnsigned});
  trace.HookRecord(1000, {7, 8, kServe, false, 0, {51}});
  trace.HookRecord(1010, {7, 8, kStack, false, 0, {1, 2}});
  trace.HookRecord(1020, {7, 8, kServe, false, 0, {52}});
  trace.HookRecord(1040, {7, 8, kStack, false, 0, {2, 1}});
  trace.HookRecord(1045, {7, 8, kInner, false, 0, {53}});
  trace.HookRecord(1050, {7, 8, kInner, true});
  trace.HookRecord(1060, {7, 8, kServe, true});
  trace.HookRecord(1070, {7, 8, kStack, false, 0, {1, 2}});
  trace.HookRecord(1080, {7, 8, kServe, true});
  const Requests requests =
      Join(trace, *ParseJoinLines("server:* arg0", "by.join"));
  REQUIRE(Ids(requests) == std::vector<std::string>{"51", "52"});
  CHECK(requests.without_value == 0);
  for (const RequestSums& sums : requests.sums) {
    CHECK(sums.calls.value == 1);
    CHECK(sums.duration_ns.value == 60);
    CHECK(sums.between_ns == 30);
  }
}

TEST_CASE("requests: threads are counted once", "[rmap][requests]") {
  MemoryTrace trace = Program();
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto tid = static_cast<std::int32_t>(8 + i % 2);
    trace.HookRecord(1000 + 20 * i, {7, tid, kServe, false, 0, {51}});
    trace.HookRecord(1010 + 20 * i, {7, tid, kServe, true});
  }
  const Requests requests = Join(trace, "arg0");
  REQUIRE(requests.sums.size() == 1);
  CHECK(requests.sums[0].threads == 2);
}

using CallKey = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

TEST_CASE("requests: each call has the times of report --slowest",
          "[rmap][property][requests]") {
  std::uint64_t checked = 0, waited = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(200u); ++seed) {
    test_support::SimulationOptions options = RandomOptions(seed);
    options.values = true;
    options.steps = 100 + seed % 400;
    const Simulation run = Simulate(options);
    const Requests requests = Join(*run.trace, "arg0");
    std::unordered_set<std::uint32_t> hooks;
    for (const auto& hook : run.trace->info().hooks) hooks.insert(hook.id);
    SlowestCalls slowest(1'000'000, hooks);
    REQUIRE(Reconstruct(*run.trace, {.observer = &slowest}).ok());
    std::map<CallKey, SlowCall> calls;
    for (SlowCall& call : slowest.Take()) {
      calls.emplace(CallKey(static_cast<std::uint32_t>(call.thread),
                            call.hook_id, call.begin_ns),
                    call);
    }
    CAPTURE(seed);
    for (std::size_t i = 0; i < requests.all.size(); ++i) {
      std::uint64_t on_cpu_ns = 0, wait_ns = 0, blocked_ns = 0;
      for (const RequestCall* call = requests.begin(i); call != requests.end(i);
           ++call) {
        if (call->is_point) continue;
        const auto found = calls.find({static_cast<std::uint32_t>(call->thread),
                                       call->hook_id, call->begin_ns});
        REQUIRE(found != calls.end());
        CHECK(call->end_ns == found->second.end_ns);
        on_cpu_ns += found->second.on_cpu_ns.value_or(0);
        wait_ns += found->second.wait_ns;
        blocked_ns += found->second.blocked_ns;
        ++checked;
      }
      const RequestSums sums = SumsOf(requests, i);
      CHECK(sums.on_cpu_ns.value == on_cpu_ns);
      CHECK(sums.wait_ns.value == wait_ns);
      CHECK(sums.blocked_ns.value == blocked_ns);
      waited += wait_ns;
    }
  }
  CHECK(checked > PropertyRuns(1000u));
  CHECK(waited != 0);
}

void CheckHolds(const char* name, const RequestNumber& number,
                std::uint64_t truth, bool has_most) {
  CAPTURE(name, number.value, has_most);
  CHECK(number.least <= truth);
  if (has_most) CHECK(truth <= number.most);
}

TEST_CASE("requests: limits hold the truth, whatever is lost",
          "[rmap][property][requests][loss]") {
  std::uint64_t checked = 0, exact = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(4000u); ++seed) {
    test_support::SimulationOptions options = RandomOptions(seed);
    options.values = true;
    const Simulation run = Simulate(options);
    const std::string value =
        seed % 4 == 0 && options.system_calls ? "fd" : "arg0";
    std::map<std::string, RequestSums> truth;
    {
      const Requests all = Join(*run.trace, value);
      for (std::size_t i = 0; i < all.all.size(); ++i) {
        truth.emplace(all.all[i].id, SumsOf(all, i));
      }
    }
    LostRecords lost(seed, *run.trace);
    run.trace->RemoveOf(lost);
    const Requests requests = Join(*run.trace, value);
    CAPTURE(seed, value);
    const bool is_whole = requests.lost.empty();
    if (is_whole) CHECK(requests.all.size() == truth.size());
    for (std::size_t i = 0; i < requests.all.size(); ++i) {
      const auto found = truth.find(requests.all[i].id);
      const RequestSums none{};
      const RequestSums& of = found == truth.end() ? none : found->second;
      const RequestSums sums = SumsOf(requests, i);
      CAPTURE(requests.all[i].id);
      CheckHolds("duration_ns", sums.duration_ns, of.duration_ns.value,
                 is_whole);
      CheckHolds("calls", sums.calls, of.calls.value, is_whole);
      CheckHolds("on_cpu_ns", sums.on_cpu_ns, of.on_cpu_ns.value, is_whole);
      CheckHolds("wait_ns", sums.wait_ns, of.wait_ns.value, is_whole);
      CheckHolds("blocked_ns", sums.blocked_ns, of.blocked_ns.value, is_whole);
      ++checked;
      exact += is_whole && sums.on_cpu_ns.is_exact() && sums.wait_ns.is_exact();
    }
  }
  CHECK(checked > PropertyRuns(1000u));
  CHECK(exact > PropertyRuns(100u));  // not all are given up
}

}  // namespace
}  // namespace countrace::rmap
