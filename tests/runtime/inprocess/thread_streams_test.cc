// The promises of the runtime library about records: none is lost, torn, out of
// order or under a wrong thread, or the loss is counted with its cause.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/runtime/inprocess/test_session.h"

namespace countrace::test {
namespace {

namespace lf = countrace::logformat;

bool Exited(const ProgramResult& result, int status) {
  return WIFEXITED(result.status) && WEXITSTATUS(result.status) == status;
}

// Values 0, 1, 2, ... without a gap.
bool IsCountedUp(const std::vector<std::uint64_t>& ticks) {
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    if (ticks[i] != i) return false;
  }
  return true;
}

void CheckNothingLost(const Recorded& recorded) {
  CHECK(recorded.discarded == 0);
  CHECK(recorded.discarded_packets == 0);
  CHECK(recorded.times_gone_back == 0);
}

TEST_CASE("thread streams: emitted equals recorded plus discarded by cause") {
  // Some settings must run out of sub-buffers, else the sum means little.
  TestSession::Options options;
  options.mode = lf::SessionMode::kDiscard;
  options.max_bytes = GENERATE(64u << 10, 1u << 20, 8u << 20, 1u << 30);
  CAPTURE(options.max_bytes);
  TestSession session(options);
  const ProgramResult program = session.Run({"pairs", "8", "50000"});
  REQUIRE(Exited(program, 0));
  REQUIRE(program.emitted_total == 8 * 2 * 50000);
  const Recorded unfinished = session.Read();
  session.Finish();
  const Recorded recorded = session.Read();
  CHECK(unfinished.records == recorded.records);
  CHECK(recorded.records + recorded.discarded == program.emitted_total);
  // On a busy machine the helper may be late; no thread waits for it.
  const std::uint64_t full =
      recorded.by_cause[static_cast<int>(lf::DiscardCause::kTraceFull)];
  const std::uint64_t late =
      recorded.by_cause[static_cast<int>(lf::DiscardCause::kNoSubBuffer)];
  CHECK(full + late == recorded.discarded);
  if (options.max_bytes <= (1u << 20)) CHECK(full > 0);
  if (options.max_bytes == (1u << 30)) CHECK(full == 0);
  CHECK(recorded.times_gone_back == 0);
}

TEST_CASE("thread streams: many threads at full speed lose nothing") {
  TestSession::Options options;
  options.sub_buffer_bytes = GENERATE(std::uint64_t{16} << 10, 1u << 20);
  TestSession session(options);
  const ProgramResult program = session.Run({"ticks", "8", "100000"});
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CHECK(recorded.records + recorded.discarded == program.emitted_total);
  CHECK(recorded.times_gone_back == 0);
  CHECK(recorded.discarded_packets == 0);
  for (const auto& [id, thread] : recorded.threads) {
    CAPTURE(id.second);
    if (recorded.discarded == 0) CHECK(IsCountedUp(thread.ticks));
    CHECK(program.emitted.count(thread.tid) == 1);
  }
}

TEST_CASE("thread streams: a storm of signals tears and loses nothing") {
  const bool calibrated = GENERATE(true, false);
  CAPTURE(calibrated);
  TestSession::Options options;
  options.calibrated = calibrated;
  TestSession session(options);
  // A timer at 10 kHz, as fast as the kernel delivers it.
  const ProgramResult program = session.Run({"storm", "5000", "100"});
  INFO(program.output << program.errors);
  REQUIRE(Exited(program, 0));  // 1: a handler found its errno changed
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  CHECK(recorded.records == program.emitted_total);
  REQUIRE(recorded.threads.size() == 1);
  CHECK(IsCountedUp(recorded.threads.begin()->second.ticks));
}

TEST_CASE("thread streams: a storm that also reads counters is in order") {
  TestSession::Options options;
  options.software_events = {{"page-faults", 2}, {"context-switches", 3}};
  TestSession session(options);
  const ProgramResult program = session.Run({"storm", "2000", "100"});
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  CHECK(recorded.records == program.emitted_total);
}

TEST_CASE("thread streams: a thousand short threads share streams") {
  TestSession session;
  const ProgramResult program = session.Run({"short", "1000", "20"});
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  // The kernel may reuse tids; ours all belong to one process.
  std::uint64_t records = 0;
  for (const auto& [id, thread] : recorded.threads) {
    CHECK(program.emitted.at(thread.tid) == thread.records);
    records += thread.records;
  }
  CHECK(records == program.emitted_total);
  const std::string files =
      ShellOutput("ls " + session.path() + " | grep -c '^thread-'");
  // One, and another each time that the preparer is extending the free one just
  // then (AcquireRing()).
  CHECK(std::stoi(files) >= 1);
  CHECK(std::stoi(files) <= 10);
}

TEST_CASE("thread streams: forks of a threaded parent get their own") {
  TestSession session;
  const ProgramResult program = session.Run({"forks", "200", "3"});
  INFO(program.errors);
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CHECK(recorded.times_gone_back == 0);
  CHECK(recorded.discarded_packets == 0);
  CHECK(recorded.records + recorded.discarded == program.emitted_total);
  std::uint64_t children = 0;
  for (const auto& [id, thread] : recorded.threads) {
    CAPTURE(id.first, id.second);
    if (recorded.discarded == 0) {
      CHECK(program.emitted.at(thread.tid) == thread.records);
      CHECK(IsCountedUp(thread.ticks));
    }
    if (thread.records == 100) ++children;
  }
  CHECK(children >= 200);
}

TEST_CASE("thread streams: a chain of execs keeps every image's records") {
  TestSession session;
  const ProgramResult program = session.Run({"exec", "20"});
  INFO(program.errors);
  REQUIRE(Exited(program, 7));  // the last image's own status
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  CHECK(recorded.records == 21 * 10);
  for (const auto& [id, thread] : recorded.threads) {
    CHECK(thread.pid == recorded.threads.begin()->second.pid);
  }
}

TEST_CASE("thread streams: vfork and exec disturb neither side") {
  TestSession session;
  const ProgramResult program = session.Run({"vfork", "50"});
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  CHECK(recorded.records == 51 * 10);
}

TEST_CASE("thread streams: hooks around main and in late destructors count") {
  TestSession session;
  const ProgramResult program = session.Run({"life"});
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  CHECK(recorded.by_name.at("workload:before_main") == 1);
  CHECK(recorded.by_name.at("workload:at_exit") == 1);
  CHECK(recorded.by_name.at("workload:after_main") == 1);
  CHECK(recorded.by_name.at("workload:thread_destructor") == 10);
  CHECK(recorded.by_name.at("workload:key_destructor") == 10);
}

TEST_CASE("thread streams: libraries come and go") {
  TestSession session;
  const ProgramResult program =
      session.Run({"library", COUNTRACE_WORKLOAD_LIBRARY, "500"});
  INFO(program.errors);
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  CHECK(recorded.by_name.at("library:call__enter") == 500);
  CHECK(recorded.by_name.at("library:call__exit") == 500);
  CHECK(recorded.by_name.at("library:inside") == 500);
}

TEST_CASE("thread streams: an exception leaves every segment") {
  TestSession session;
  REQUIRE(Exited(session.Run({"exceptions", "100"}), 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  CHECK(recorded.by_name.at("workload:inner__enter") == 100);
  CHECK(recorded.by_name.at("workload:inner__exit") == 100);
  CHECK(recorded.by_name.at("workload:outer__exit") == 100);
  CHECK(recorded.by_name.at("workload:caught") == 100);
}

TEST_CASE("thread streams: a process ends with its last own thread") {
  // The helper thread must not keep it alive after pthread_exit in main.
  TestSession session;
  const ProgramResult program = session.Run({"main_exits"});
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CheckNothingLost(recorded);
  CHECK(recorded.records == 20);
}

TEST_CASE("thread streams: the hook filter keeps other hooks off") {
  TestSession::Options options;
  options.hook_filter = "library:*,workload:inn*";
  TestSession session(options);
  REQUIRE(Exited(session.Run({"exceptions", "10"}), 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CHECK(recorded.by_name.at("workload:inner__enter") == 10);
  CHECK(recorded.records == 20);
}

TEST_CASE(
    "thread streams: without descriptors the program runs, losses count") {
  TestSession session;
  const ProgramResult program = session.Run({"no_fds", "1000"});
  REQUIRE(Exited(program, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CHECK(recorded.records + recorded.discarded == program.emitted_total);
  CHECK(recorded.by_cause[static_cast<int>(lf::DiscardCause::kNoResource)] +
            recorded.records ==
        program.emitted_total);
}

TEST_CASE("thread streams: an unwritable directory is a counted loss") {
  TestSession session;
  // The immutable attribute makes creation fail for root, too.
  const ProgramResult program = session.Run({"ticks", "1", "1000"});
  REQUIRE(Exited(program, 0));
  ShellOutput("chattr +i " + session.path() + " 2>/dev/null");
  const ProgramResult later = session.Run({"ticks", "2", "1000"});
  ShellOutput("chattr -i " + session.path() + " 2>/dev/null");
  REQUIRE(Exited(later, 0));
  session.Finish();
  const Recorded recorded = session.Read();
  CHECK(recorded.records + recorded.discarded ==
        program.emitted_total + later.emitted_total);
  CHECK(recorded.records == program.emitted_total);
  CHECK(recorded.times_gone_back == 0);
}

TEST_CASE("thread streams: killed anywhere, what was committed is there") {
  for (int round = 0; round < 60; ++round) {
    TestSession session;
    const std::string counters = session.path() + "/.counters";
    ShellOutput("truncate -s 4096 " + counters);
    const auto delay_us = static_cast<useconds_t>(500 + 700 * round);
    const ProgramResult program =
        session.Run({"killed", counters, "2"}, [&](int pid) {
          usleep(delay_us);
          kill(pid, SIGKILL);
        });
    REQUIRE(WIFSIGNALED(program.status));
    std::uint64_t committed = 0;
    for (const char c : {'0', '1'}) {
      const std::string value =
          ShellOutput("od -An -t u8 -N 8 -j " + std::to_string((c - '0') * 8) +
                      " " + counters);
      committed += std::stoull(value);
    }
    const Recorded unfinished = session.Read();
    unlink(counters.c_str());
    session.Finish();
    const Recorded recorded = session.Read();
    CAPTURE(round, committed, recorded.records, recorded.discarded);
    CHECK(unfinished.records == recorded.records);
    CHECK(recorded.times_gone_back == 0);
    CHECK(recorded.discarded_packets == 0);
    // At most one more for each thread: committed, not yet counted.
    CHECK(recorded.records + recorded.discarded >= committed);
    CHECK(recorded.records <= committed + 2);
    for (const auto& [id, thread] : recorded.threads) {
      if (recorded.discarded == 0) CHECK(IsCountedUp(thread.ticks));
    }
  }
}

}  // namespace
}  // namespace countrace::test
