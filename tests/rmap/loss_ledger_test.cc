// What was lost, by cause, with the place of the largest loss and a remedy; and
// what a report says of the recording.
#include "rmap/tables/input/loss_ledger.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::DiscardCause;
using logformat::DiscardedEvents;
using test_support::MemoryTrace;

DiscardedEvents Lost(std::int32_t cpu, std::int32_t tid, DiscardCause cause,
                     std::uint64_t records, std::uint64_t count) {
  DiscardedEvents loss{};
  loss.cpu = cpu;
  loss.pid = loss.tid = tid;
  loss.count = count;
  loss.by_cause[static_cast<std::size_t>(cause)] = records;
  return loss;
}

bool Says(const Loss& loss, const std::string& text) {
  for (const std::string& message : loss.messages) {
    if (message.find(text) == 0) return true;
  }
  return false;
}

TEST_CASE("loss: nothing was lost, and nothing is said", "[rmap][loss]") {
  const Loss loss = LossLedger().Finish(MemoryTrace());
  CHECK(loss.discarded_events == 0);
  CHECK(loss.by_cause.empty());
  CHECK(loss.messages.empty());
}

TEST_CASE("loss: causes add up, the largest gap is named", "[rmap][loss]") {
  LossLedger ledger;
  ledger.Add(Lost(-1, 70, DiscardCause::kNoSubBuffer, 5, 5));
  ledger.Add(Lost(-1, 80, DiscardCause::kNoSubBuffer, 9, 9));
  ledger.Add(Lost(-1, 90, DiscardCause::kNoSubBuffer, 9, 9));
  ledger.Add(Lost(2, -1, DiscardCause::kKernelRingFull, 4, 4));
  ledger.Add(Lost(1, -1, DiscardCause::kKernelRingFull, 3, 10));
  MemoryTrace trace;
  trace.set_session_discarded(DiscardCause::kNoResource, 6);
  trace.set_session_discarded(DiscardCause::kNoSubBuffer, 100);
  const Loss loss = ledger.Finish(trace);
  // 7 of 10 without a cause.
  CHECK(loss.discarded_events == 23 + 7 + 7 + 106);
  CHECK(loss.by_cause ==
        std::map<std::string, std::uint64_t>{{"no_sub_buffer", 123},
                                             {"kernel_ring_full", 7},
                                             {"no_resource", 6},
                                             {"unknown", 7}});
  CHECK(loss.messages.size() == 4);
  CHECK(Says(loss, "123 event records discarded, most at once by tid 80: no "));
  CHECK(Says(loss, "7 event records discarded, most at once on cpu 2: the "));
  CHECK(Says(loss, "6 event records discarded: a stream file "));
  CHECK(Says(loss, "7 event records discarded: the packets do not say why"));
}

TEST_CASE("loss: what a flight recording overwrote is said apart",
          "[rmap][loss]") {
  LossLedger ledger;
  DiscardedEvents overwritten = Lost(0, -1, DiscardCause::kTraceFull, 50, 50);
  overwritten.overwritten = true;
  overwritten
      .by_cause[static_cast<std::size_t>(DiscardCause::kKernelRingFull)] = 2;
  overwritten.count = 52;
  ledger.Add(overwritten);
  Loss loss = ledger.Finish(MemoryTrace());
  CHECK(loss.overwritten == 50);
  CHECK(loss.discarded_events == 52);
  CHECK(loss.messages.size() == 2);
  CHECK(Says(loss, "50 event records were overwritten"));
  CHECK(Says(loss, "2 event records discarded, most at once on cpu 0: "));
  ledger.Add(Lost(-1, 7, DiscardCause::kTraceFull, 3, 3));
  loss = ledger.Finish(MemoryTrace());
  CHECK(loss.overwritten == 50);
  CHECK(loss.messages.size() == 3);
  CHECK(Says(loss, "3 event records discarded, most at once by tid 7: "));
}

TEST_CASE("loss: ten places of lost packets are named, the others counted",
          "[rmap][loss]") {
  LossLedger ledger;
  for (int i = 0; i < 10; ++i) {
    logformat::DiscardedPackets packets{};
    packets.packets = 2;
    packets.reason = "place " + std::to_string(i);
    ledger.Add(packets);
  }
  ledger.AddClockError();
  ledger.AddClockError();
  ledger.AddMessage("a finding");
  Loss loss = ledger.Finish(MemoryTrace());
  CHECK(loss.discarded_packets == 20);
  CHECK(loss.clock_errors == 2);
  CHECK(loss.messages.size() == 12);
  CHECK(Says(loss, "packets lost: place 9"));
  CHECK(Says(loss, "2 records have a time before "));
  CHECK(Says(loss, "a finding"));
  ledger.Add(logformat::DiscardedPackets{});
  ledger.Add(logformat::DiscardedPackets{});
  loss = ledger.Finish(MemoryTrace());
  CHECK(Says(loss, "packets lost: 2 more places"));
}

TEST_CASE("loss: what was not recorded counts", "[rmap][loss]") {
  MemoryTrace trace;
  trace.mutable_info().not_recorded = {
      {logformat::kKernelRecursion, 141, "141 kernel records"},
      {logformat::kNotJoined, 2, "app is static"},
      {logformat::kNotJoined, 1, "app is set-user-ID"}};
  const Loss loss = LossLedger().Finish(trace);
  CHECK(loss.discarded_events == 141);
  CHECK(loss.by_cause ==
        std::map<std::string, std::uint64_t>{{"kernel_recursion", 141}});
  CHECK(loss.not_joined == 3);
  CHECK(Says(loss, "app is static"));
}

TEST_CASE("header: what the recording says of itself", "[rmap]") {
  MemoryTrace reader;
  logformat::TraceInfo& info = reader.mutable_info();
  info.scope = logformat::SessionScope::kHooksOnly;
  info.command = "app --fast";
  info.hostname = "host";
  info.kernel_release = "6.1";
  info.source = "perf";
  info.not_known = {"waits"};
  info.cpus = 5;
  info.own_bpf_ns = 11;
  info.own_bpf_sampled_ns = 12;
  info.own_hook_cpu_ps = 13;
  info.own_hook_ps = 14;
  info.own_hook_dump_ps = 15;
  info.finished = false;
  const auto report = Reconstruct(reader, {});
  REQUIRE(report.ok());
  CHECK(report->scope == "hooks");
  CHECK(report->command == "app --fast");
  CHECK(report->hostname == "host");
  CHECK(report->kernel_release == "6.1");
  CHECK(report->source == "perf");
  CHECK(report->not_known == std::vector<std::string>{"waits"});
  CHECK(report->cpus == 5);
  CHECK(report->own_cost.bpf_ns == 11);
  CHECK(report->own_cost.bpf_sampled_ns == 12);
  CHECK(report->own_cost.hook_cpu_ps == 13);
  CHECK(report->own_cost.hook_ps == 14);
  CHECK(report->own_cost.hook_dump_ps == 15);
  CHECK_FALSE(report->finished);
}

TEST_CASE("header: a program's own name is that of a process without another",
          "[rmap]") {
  MemoryTrace reader;
  reader.mutable_info().scope = logformat::SessionScope::kSystem;
  reader.mutable_info().processes = {{50, "hooked"}, {60, "own"}, {70, "none"}};
  reader.AddHook(10, logformat::HookKind::kPoint, "app", "tick");
  reader.HookRecord(1000, {50, 50, 10});
  reader.HookRecord(1100, {60, 60, 10});
  reader.Comm(1200, 0, {60, 60, 0, 0}, "kernel's");
  const auto report = Reconstruct(reader, {});
  REQUIRE(report.ok());
  REQUIRE(report->processes.size() == 2);
  for (const ProcessRow& row : report->processes) {
    CHECK(row.comm == (row.pid == 50 ? "hooked" : "kernel's"));
  }
}

}  // namespace
}  // namespace countrace::rmap
