// A page that needs no server: one HTML file with the front end, the index,
// and the code that answers from it (viewer/README.md).
//
//   index, samples --gzip--> base64 --> FILE.html --> web/src/app/own_file.ts
#ifndef COUNTRACE_VIEWER_OFFLINE_PAGE_FILE_H_
#define COUNTRACE_VIEWER_OFFLINE_PAGE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "logformat/progress.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

struct PageFileOptions {
  std::string path;
  std::string_view module;   // IndexModule()
  std::string samples = {};  // SamplesForPage()
  std::string notes = "[]";  // ReadNotes()
  // IdsOf(). None by default, as a page is passed on.
  std::vector<std::pair<const char*, std::string>> ids = {};
  // A browser can be expected to hold so much in memory, beside the text of
  // the file.
  std::uint64_t max_index_bytes = std::uint64_t{1} << 29;
  logformat::ProgressCallback progress = {};  // may be empty
};

// An error if `module` is empty: how to build it.
absl::Status CheckModule(std::string_view module);

// Writes under a temporary name and renames; an existing file is replaced.
// Returns: FAILED_PRECONDITION no module; RESOURCE_EXHAUSTED the index is
// larger; CANCELLED; errors of writing.
absl::Status WritePageFile(const TimelineIndex& index,
                           const PageFileOptions& options);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_OFFLINE_PAGE_FILE_H_
