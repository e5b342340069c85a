// The index of a whole trace, whose threads are read one after the other, is
// the one of its records in one order, byte for byte.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/rmap/busy_machine.h"
#include "tests/rmap/hooked_program.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/build/index_pass.h"

namespace countrace::viewer {
namespace {

using test_support::MemoryTrace;

// Whether the sink of a reading took runs.
class Watched final : public logformat::TraceReader {
 public:
  explicit Watched(MemoryTrace& trace) : trace_(trace) {}
  const logformat::TraceInfo& info() const override { return trace_.info(); }
  const std::vector<logformat::StreamInfo>& streams() const override {
    return trace_.streams();
  }
  absl::Status Read(logformat::ItemSink& sink,
                    const logformat::ProgressCallback& progress) override {
    took_runs = sink.TakesThreadRuns();
    return trace_.Read(sink, progress);
  }
  std::array<std::uint64_t, logformat::kDiscardCauses> session_discarded()
      const override {
    return trace_.session_discarded();
  }
  std::uint64_t complete_from_ns() const override {
    return trace_.complete_from_ns();
  }
  std::uint64_t end_ns() const override { return trace_.end_ns(); }
  bool keeps_records() const override { return trace_.keeps_records(); }
  std::uint32_t session_last_errno() const override { return 0; }
  std::uint32_t late_sub_buffers() const override {
    return trace_.late_sub_buffers();
  }
  const std::vector<std::string>& messages() const override {
    return trace_.messages();
  }
  bool took_runs = false;

 private:
  MemoryTrace& trace_;
};

// The bytes of the index.
std::string IndexOf(Watched& trace, std::uint64_t most_bytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/" + kIndexFile;
  auto pass = IndexPass::Read(trace, directory.path(), most_bytes, nullptr);
  REQUIRE(pass.ok());
  REQUIRE(pass->Write(kTestFingerprint, path, nullptr).ok());
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void CheckBoth(MemoryTrace& trace) {
  Watched watched(trace);
  // Such a limit is never reached, but it may be.
  const std::string in_order = IndexOf(watched, kWholeTrace - 1);
  CHECK_FALSE(watched.took_runs);
  const std::string in_runs = IndexOf(watched, kWholeTrace);
  CHECK(watched.took_runs);
  CHECK(in_order.size() > sizeof(FileHeader));
  CHECK((in_order == in_runs));
}

}  // namespace

TEST_CASE("index_pass: runs of threads give the same index",
          "[viewer][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 60)));
  CAPTURE(seed);
  SECTION("a machine") {
    test_support::SimulationOptions options = test_support::RandomOptions(seed);
    options.steps = 200 + seed % 400;
    test_support::Simulation run = Simulate(options);
    CheckBoth(*run.trace);
  }
  SECTION("a machine, records lost") {
    test_support::SimulationOptions options = test_support::RandomOptions(seed);
    options.steps = 200 + seed % 400;
    test_support::Simulation run = Simulate(options);
    std::mt19937_64 random(seed);
    run.trace->Remove([&](std::size_t) { return random() % 25 == 0; },
                      /*declare=*/seed % 3 != 0);
    CheckBoth(*run.trace);
  }
  SECTION("a program") { CheckBoth(*test_support::HookedProgram(seed)); }
  SECTION("a busy machine") { CheckBoth(*test_support::BusyMachine(seed)); }
}

}  // namespace countrace::viewer
