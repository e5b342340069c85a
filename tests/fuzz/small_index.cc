#include "tests/fuzz/small_index.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "viewer/index/build/index_builder.h"

namespace countrace::fuzz {

using viewer::HttpRequest;
using viewer::TimelineIndex;

std::string WriteSmallIndex(const std::string& folder) {
  return WriteIndex(
      folder, {.processes = 2, .threads_per_process = 2, .dispatches = 300});
}

std::string WriteIndex(const std::string& folder,
                       const viewer::SyntheticOptions& options) {
  const auto trace = viewer::MakeSyntheticTrace(options);
  const std::string path = folder + "/" + viewer::kIndexFile;
  auto builder = viewer::IndexBuilder::Create(viewer::kSyntheticEvents, folder);
  absl::Status status = builder.status();
  if (status.ok()) {
    trace.Replay(**builder);
    status = (*builder)->Finish(trace.report, trace.info, {}, path);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "no index: %s\n", status.ToString().c_str());
    std::abort();
  }
  return path;
}

std::vector<HttpRequest> ApiRequests(const TimelineIndex& index) {
  std::vector<HttpRequest> requests;
  const auto get = [&](const std::string& target) {
    HttpRequest request;
    request.method = "GET";
    request.target = "/api/v1/" + target;
    requests.push_back(std::move(request));
  };
  for (const char* name : {"trace", "overview", "processes", "threads", "hooks",
                           "rows", "rows?offset=1", "losses"}) {
    get(name);
  }
  const std::uint64_t end = index.duration_ns();
  for (const std::uint64_t at : {std::uint64_t{0}, end / 3, end, ~end}) {
    get(absl::StrFormat("aggregate?from=%d&to=%d", at, end));
    get(absl::StrFormat("aggregate?from=%d&to=%d&tables=threads,cpus,waits", at,
                        end));
    get(absl::StrFormat("state?t=%d&window=%d&threads=all", at, end / 2));
    for (const char* direction : {"next", "previous"}) {
      get(absl::StrFormat("step?t=%d&dir=%s&kind=any", at, direction));
      get(absl::StrFormat("step?t=%d&dir=%s&row=0", at, direction));
      get(absl::StrFormat("step?t=%d&dir=%s&row=%d", at, direction,
                          index.rows().size() - 1));
    }
  }
  const std::size_t rows = std::min<std::size_t>(index.rows().size(), 16);
  for (std::size_t row = 0; row < rows; ++row) {
    for (const int level : {0, 8, 20, 40}) {
      get(absl::StrFormat("tile/%d/%d/0", row, level));
    }
  }
  return requests;
}

}  // namespace countrace::fuzz
