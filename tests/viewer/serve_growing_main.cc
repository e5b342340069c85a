// Serves a trace whose index is built as far as the test lets it:
//   serve_growing DIRECTORY [pair]
// Writes a trace to DIRECTORY/trace.ctf and serves its first parts; the index
// of the whole trace is built once there is a file DIRECTORY/go, on a full disk
// if there is DIRECTORY/full. `pair`: two of them side by side, the second half
// as long. Prints the address on stdout; ends on SIGINT or SIGTERM.
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/support/trace_builder.h"
#include "viewer/server.h"

namespace {

using countrace::test_support::TraceBuilder;

// Two threads that take turns on one CPU, 10 us each.
void Record(const std::string& path, std::uint32_t turns) {
  constexpr std::uint64_t kTurnNs = 10'000;
  TraceBuilder trace(path);
  trace.SetPacketBytes(8192);
  trace.SetCpuEvents({"task-clock"});
  auto& cpu = trace.Cpu(0);
  std::uint64_t now_ns = 1000, clock = 0;
  cpu.Counters(now_ns, countrace::logformat::CountersReason::kBegin, 0,
               {clock});
  for (const std::int32_t tid : {101, 202}) {
    cpu.ProcessState(now_ns, tid, tid, 1, 0, "turn-" + std::to_string(tid));
  }
  std::uint32_t running = 0;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    const std::uint32_t next = turn % 2 == 0 ? 101 : 202;
    now_ns += kTurnNs;
    if (running != 0) clock += kTurnNs;
    cpu.Dispatch(now_ns, running, next, 1, {clock});
    running = next;
  }
  cpu.Counters(now_ns + kTurnNs, countrace::logformat::CountersReason::kEnd,
               running, {clock + kTurnNs});
  trace.Finish();
}

}  // namespace

int main(int argc, char** argv) {
  const bool pair = argc == 3 && std::string(argv[2]) == "pair";
  if (argc != 2 && !pair) {
    std::fprintf(stderr, "usage: serve_growing DIRECTORY [pair]\n");
    return 2;
  }
  const std::string directory = argv[1];
  Record(directory + "/trace.ctf", 8000);
  countrace::viewer::ServeOptions options;
  options.trace_path = directory + "/trace.ctf";
  options.first_part_bytes = 16384;
  options.failure_time = std::chrono::minutes(10);
  options.progress = [&](const countrace::logformat::Progress&) {
    while (!std::filesystem::exists(directory + "/go")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (std::filesystem::exists(directory + "/full")) {
      const rlimit nothing{.rlim_cur = 0, .rlim_max = 0};
      ::signal(SIGXFSZ, SIG_IGN);
      ::setrlimit(RLIMIT_FSIZE, &nothing);
    }
    return true;
  };
  options.on_ready = [](const std::string& url) {
    std::printf("%s\n", url.c_str());
    std::fflush(stdout);
  };
  absl::Status served;
  if (pair) {
    countrace::viewer::ServeOptions after = options;
    after.trace_path = directory + "/after.ctf";
    Record(after.trace_path, 4000);
    served = countrace::viewer::ServePair(options, after);
  } else {
    served = countrace::viewer::Serve(options);
  }
  if (!served.ok()) std::fprintf(stderr, "%s\n", served.ToString().c_str());
  return served.ok() ? 0 : 1;
}
