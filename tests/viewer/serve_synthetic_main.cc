// Serves a synthetic timeline for development and for the browser test:
//   serve_synthetic DIRECTORY [DISPATCHES [SEED [CPUS]]]
// Prints the address on stdout; ends on SIGINT or SIGTERM. Writes the true
// values to DIRECTORY/truth.json, for the browser test.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/viewer/synthetic_trace.h"
#include "viewer/index/build/index_builder.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/server/serve/serve.h"

namespace {

using namespace countrace::viewer;

// All times since the trace began.
void WriteTruth(const SyntheticTrace& trace, const std::string& path) {
  nlohmann::json truth;
  const std::uint64_t begin_ns = trace.report.begin_ns;
  truth["cpu0"] = nlohmann::json::array();
  std::uint64_t busy0_ns = 0;
  for (const TrueDispatch& dispatch : trace.dispatches) {
    if (dispatch.cpu != 0) continue;
    if (dispatch.thread != kNoKey) {
      busy0_ns += dispatch.end_ns - dispatch.begin_ns;
    }
    if (truth["cpu0"].size() >= 2000) continue;
    truth["cpu0"].push_back({dispatch.begin_ns - begin_ns,
                             dispatch.end_ns - begin_ns, dispatch.thread});
  }
  truth["cpu0_all"] = nlohmann::json::array();
  for (const TrueDispatch& dispatch : trace.dispatches) {
    if (dispatch.cpu != 0) continue;
    truth["cpu0_all"].push_back({dispatch.begin_ns - begin_ns,
                                 dispatch.end_ns - begin_ns, dispatch.thread});
  }
  truth["cpu0_busy_ns"] = busy0_ns;
  truth["segments"] = nlohmann::json::array();
  for (const TrueSegment& segment : trace.segments) {
    if (truth["segments"].size() >= 2000) break;
    truth["segments"].push_back({segment.thread, segment.depth,
                                 segment.begin_ns - begin_ns,
                                 segment.end_ns - begin_ns, segment.hook_id});
  }
  // Event 1 on CPU 0: when it was read, its value, was it counted.
  truth["dumps0"] = nlohmann::json::array();
  for (const TrueDump& dump : trace.dumps) {
    if (dump.cpu != 0) continue;
    truth["dumps0"].push_back(
        {dump.time_ns - begin_ns, dump.values[1], (dump.present & 2) != 0});
  }
  truth["discarded"] = trace.report.loss.discarded_events;
  std::ofstream(path) << truth;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: serve_synthetic DIRECTORY "
                 "[DISPATCHES [SEED [CPUS]]]\n");
    return 2;
  }
  const std::string directory = argv[1];
  SyntheticOptions options;
  options.event_set_change = true;
  if (argc > 2) options.dispatches = std::strtoull(argv[2], nullptr, 10);
  if (argc > 3) {
    options.seed =
        static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  }
  if (argc > 4) {
    options.cpus =
        static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
    options.processes = 2 * options.cpus;
  }
  const SyntheticTrace trace = MakeSyntheticTrace(options);
  auto builder = IndexBuilder::Create(kSyntheticEvents, directory);
  if (!builder.ok()) {
    std::fprintf(stderr, "%s\n", builder.status().ToString().c_str());
    return 1;
  }
  trace.Replay(**builder);
  const std::string path = directory + "/" + kIndexFile;
  if (absl::Status built =
          (*builder)->Finish(trace.report, trace.info, Fingerprint{}, path);
      !built.ok()) {
    std::fprintf(stderr, "%s\n", built.ToString().c_str());
    return 1;
  }
  WriteTruth(trace, directory + "/truth.json");
  auto index = TimelineIndex::Open(path, nullptr);
  if (!index.ok()) {
    std::fprintf(stderr, "%s\n", index.status().ToString().c_str());
    return 1;
  }
  ServedIndexes indexes;
  indexes.Publish(*std::move(index));
  const absl::Status served =
      ServeIndexes(indexes, nullptr, 0,
                   [](const std::string& url, std::shared_ptr<HttpServer>) {
                     std::printf("%s\n", url.c_str());
                     std::fflush(stdout);
                   });
  return served.ok() ? 0 : 1;
}
