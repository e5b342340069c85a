// The watcher over the files of a session: threads migrate between CPUs, and
// between streams, while each stream may be written beyond the time of the
// look.
#include "runtime/recorder/triggers/trigger_watcher.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

using test_support::TempDirectory;
using test_support::TraceBuilder;
using Random = std::mt19937_64;

constexpr std::size_t kThreads = 5;
constexpr std::size_t kCpus = 3;
// No process has this pid: then threads that are not in /proc count as alive.
constexpr std::int32_t kPid = 0xffffff;

struct Event {
  std::uint64_t time_ns;
  std::int32_t tid;
  std::size_t stream;  // of the CPU, or the thread's current one
  bool kernel, exit;
};

// Calls of each thread, one after the other; counts those longer than 1 us.
std::vector<Event> Calls(Random& random, std::uint64_t& kernel_long,
                         std::uint64_t& user_long) {
  std::vector<Event> events;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    const auto tid = static_cast<std::int32_t>(10 + thread);
    const bool kernel = random() % 2 == 0;
    std::uint64_t now_ns = 1000 + random() % 100;
    std::size_t stream = kernel ? random() % kCpus : thread;
    for (int call = 0; call < 60; ++call) {
      now_ns += 1 + random() % 300;
      events.push_back({now_ns, tid, stream, kernel, false});
      const std::uint64_t length =
          random() % 4 == 0 ? 900 + random() % 300 : 1 + random() % 100;
      now_ns += length;
      (kernel ? kernel_long : user_long) += length > 1000 ? 1 : 0;
      if (random() % 3 == 0) {
        // Threads go to a stream that no other one has.
        stream = kernel ? random() % kCpus : stream + kThreads;
      }
      events.push_back({now_ns, tid, stream, kernel, true});
    }
  }
  std::stable_sort(
      events.begin(), events.end(),
      [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return events;
}

class Session {
 public:
  explicit Session(const std::string& path) : builder_(path) {
    builder_.SetCpuEvents({"task-clock"});
    read_ = builder_.AddKernelHook("kernel-segment", "syscall", "read");
    call_ = builder_.AddSegment("p", "call");
  }
  void Write(const Event& event) {
    const std::uint32_t exit = event.exit ? 1 : 0;
    if (event.kernel) {
      builder_.Cpu(static_cast<std::int32_t>(event.stream))
          .KernelHook(
              event.time_ns, static_cast<std::uint16_t>(read_ * 2 + exit),
              static_cast<std::uint64_t>(event.tid) | std::uint64_t{kPid} << 24,
              {}, event.exit ? std::optional<std::int64_t>(0) : std::nullopt);
      return;
    }
    // Files are named by the first thread in them.
    const auto name = static_cast<std::int32_t>(10 + event.stream);
    auto& stream = builder_.Thread(kPid, name);
    if (name != event.tid) stream.SetThread(kPid, event.tid);
    if (event.exit) {
      stream.Exit(call_, event.time_ns);
    } else {
      stream.Enter(call_, event.time_ns);
    }
  }
  const std::string& path() const { return builder_.directory(); }

 private:
  TraceBuilder builder_;
  std::uint32_t read_ = 0, call_ = 0;
};

std::string Times(std::uint64_t times) {
  return times == 1 ? "fired once"
                    : "fired " + std::to_string(times) + " times";
}

}  // namespace

TEST_CASE("trigger_watcher: each long call fires once, wherever it ends") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    INFO("seed " << seed);
    TempDirectory temp(TempDirectory::Place::kMemory);
    Session session(temp / "t");
    std::uint64_t kernel_long = 0, user_long = 0;
    const std::vector<Event> events = Calls(random, kernel_long, user_long);
    auto triggers =
        ParseTriggers({"segment syscall:* > 1us", "segment p:call > 1us"});
    REQUIRE(triggers.ok());
    TriggerWatcher watcher(session.path(), *std::move(triggers), 0,
                           [](const std::string&) {});
    // Each stream has all records due at the time of the look, and perhaps
    // more.
    std::vector<bool> written(events.size(), false);
    std::vector<std::uint64_t> until(kThreads * 100, 0);
    std::uint64_t now_ns = 0;
    while (now_ns < events.back().time_ns) {
      now_ns += random() % 2000;
      for (std::uint64_t& time_ns : until) {
        time_ns = std::max(time_ns, now_ns + random() % 3 * (random() % 1500));
      }
      for (std::size_t i = 0; i < events.size(); ++i) {
        const std::size_t of =
            events[i].stream + (events[i].kernel ? 0 : kCpus);
        if (written[i] || events[i].time_ns > until[of]) continue;
        written[i] = true;
        session.Write(events[i]);
      }
      watcher.Look(now_ns, nullptr);
    }
    watcher.Look(now_ns + 10'000, nullptr);
    const std::vector<std::string> said = watcher.Describe();
    REQUIRE(said.size() == 2);
    INFO(said[0]);
    INFO(said[1]);
    REQUIRE(said[0].find(Times(kernel_long)) != std::string::npos);
    REQUIRE(said[1].find(Times(user_long)) != std::string::npos);
  }
}

TEST_CASE("trigger_watcher: a firing has its time, value and trigger") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  Session session(temp / "t");
  auto triggers = ParseTriggers({"segment p:* > 1us after 5us"});
  std::vector<std::string> said;
  TriggerWatcher watcher(
      session.path(), *std::move(triggers), 500,
      [&](const std::string& text) { said.push_back(text); });
  const auto tid = std::numeric_limits<std::int32_t>::max();  // not in use
  session.Write({1000, tid, static_cast<std::size_t>(tid - 10), false, false});
  session.Write({3500, tid, static_cast<std::size_t>(tid - 10), false, true});
  watcher.Look(4000, nullptr);
  REQUIRE(said.size() == 1);
  REQUIRE(said[0] ==
          "trigger at 0.000003 s: p:call took 2.50 us in tid 2147483647");
  REQUIRE(watcher.TakeDue(8499).reasons.empty());
  const DueTriggers due = watcher.TakeDue(8500);
  REQUIRE(due.reasons.size() == 1);
  REQUIRE(due.reasons[0].time_ns == 3500);
  REQUIRE(due.reasons[0].trigger == "segment p:* > 1us after 5us");
  REQUIRE(due.reasons[0].what == "p:call took 2.50 us in tid 2147483647");
}

}  // namespace countrace::runtime
