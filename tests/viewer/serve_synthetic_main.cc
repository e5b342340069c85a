// Serves a synthetic timeline for development and for the browser test:
//   serve_synthetic DIRECTORY [DISPATCHES [SEED]]
// Prints the address on stdout; ends on SIGINT or SIGTERM.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/viewer/synthetic_trace.h"
#include "viewer/index/index_builder.h"
#include "viewer/index/timeline_index.h"
#include "viewer/server/serve.h"

int main(int argc, char** argv) {
  using namespace countrace::viewer;
  if (argc < 2) {
    std::fprintf(stderr, "usage: serve_synthetic DIRECTORY [DISPATCHES]\n");
    return 2;
  }
  const std::string directory = argv[1];
  SyntheticOptions options;
  if (argc > 2) options.dispatches = std::strtoull(argv[2], nullptr, 10);
  if (argc > 3) {
    options.seed =
        static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
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
  auto index = TimelineIndex::Open(path, nullptr);
  if (!index.ok()) {
    std::fprintf(stderr, "%s\n", index.status().ToString().c_str());
    return 1;
  }
  const absl::Status served =
      ServeIndex(**index, 0, [](const std::string& url) {
        std::printf("%s\n", url.c_str());
        std::fflush(stdout);
      });
  return served.ok() ? 0 : 1;
}
