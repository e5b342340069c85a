// Writes small traces of a made-up server into the current directory, for
// diff_test.py: old1.ctf ... old5.ctf and new1.ctf ... new5.ctf. In the new
// version a call of server:handle takes 2.1 times as long and 411 page faults
// instead of 3; server:parse is as it was; server:audit is new. Every run has
// some noise, the same in each build.
//
//   server_traces RUNS
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"

namespace {

using countrace::logformat::CountersReason;
using countrace::logformat::kSwitchInterruptible;
using countrace::test_support::TraceBuilder;

constexpr std::uint64_t kBeginNs = 1'000'000'000;
constexpr std::int32_t kPid = 4242;
constexpr int kRequests = 50;

class ServerRun {
 public:
  ServerRun(const std::string& directory, bool is_new, std::uint64_t seed)
      : trace_(directory), is_new_(is_new), random_(seed) {}

  void Write() {
    trace_.session().cpus = 1;
    trace_.SetCpuEvents({"task-clock", "page-faults"});
    const auto request = trace_.AddSegment("server", "request");
    const auto parse = trace_.AddSegment("server", "parse");
    const auto handle = trace_.AddSegment("server", "handle");
    const auto audit = is_new_ ? trace_.AddSegment("server", "audit") : 0;
    Cpu().Counters(now_ns_, CountersReason::kBegin, 0, Values());
    Cpu().ProcessState(now_ns_, kPid, kPid, 1, 0, "server");
    Cpu().ProcessState(now_ns_, 77, 77, 1, 0, "cron");
    for (int i = 0; i < kRequests; ++i) {
      Idle(20'000);
      Switch(0, kPid);
      Run(2000);
      Thread().Enter(request, now_ns_);
      Segment(parse, 5000, 0);
      Segment(handle, is_new_ ? 231'000 : 110'000, is_new_ ? 411 : 3);
      if (is_new_) Segment(audit, 4000, 0);
      Run(1000);
      Thread().Exit(request, now_ns_);
      Switch(kPid, 0);
      if (i % 10 == 0) OtherProgram();
    }
    Cpu().Counters(now_ns_, CountersReason::kEnd, 0, Values());
    trace_.Finish();
  }

 private:
  countrace::test_support::CpuStreamBuilder& Cpu() { return trace_.Cpu(0); }
  countrace::test_support::ThreadStreamBuilder& Thread() {
    return trace_.Thread(kPid, kPid);
  }
  std::vector<std::uint64_t> Values() const { return {now_ns_, faults_}; }

  // A time within 4 % of `ns`. No distribution of the standard library is used:
  // each library has different ones.
  std::uint64_t Noisy(std::uint64_t ns) {
    return ns - ns / 25 + random_() % (2 * ns / 25 + 1);
  }
  void Run(std::uint64_t ns) { now_ns_ += Noisy(ns); }
  void Idle(std::uint64_t ns) { now_ns_ += Noisy(ns); }
  void Switch(std::uint32_t from, std::uint32_t to) {
    Cpu().Dispatch(now_ns_, from, to, kSwitchInterruptible, Values());
  }
  void Segment(std::uint32_t hook, std::uint64_t ns, int faults) {
    Thread().Enter(hook, now_ns_);
    Run(ns);
    for (int i = 0; i < faults; ++i) {
      ++faults_;
      Cpu().Fault(++now_ns_, kPid, kPid, 0x1000u * static_cast<unsigned>(i));
    }
    Thread().Exit(hook, ++now_ns_);
  }
  void OtherProgram() {
    Switch(0, 77);
    Run(8000);
    Switch(77, 0);
  }

  TraceBuilder trace_;
  const bool is_new_;
  std::mt19937_64 random_;
  std::uint64_t now_ns_ = kBeginNs, faults_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 5;
  for (int run = 1; run <= runs; ++run) {
    const auto seed = static_cast<std::uint64_t>(run);
    ServerRun("old" + std::to_string(run) + ".ctf", false, seed).Write();
    ServerRun("new" + std::to_string(run) + ".ctf", true, 100 + seed).Write();
  }
}
