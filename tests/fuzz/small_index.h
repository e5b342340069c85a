// A small index of a synthetic trace, for the fuzzers of the viewer. Its bytes
// come from the writer of today, so that a new version needs no new corpus.
#ifndef COUNTRACE_TESTS_FUZZ_SMALL_INDEX_H_
#define COUNTRACE_TESTS_FUZZ_SMALL_INDEX_H_

#include <string>
#include <vector>

#include "tests/viewer/synthetic_trace.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/http_message.h"

namespace countrace::fuzz {

// Written into the folder, which exists. Ends the program if that fails.
std::string WriteSmallIndex(const std::string& folder);
std::string WriteIndex(const std::string& folder,
                       const viewer::SyntheticOptions& options);

// A request for each address of the API, with every form of its parameters.
std::vector<viewer::HttpRequest> ApiRequests(
    const viewer::TimelineIndex& index);

}  // namespace countrace::fuzz

#endif  // COUNTRACE_TESTS_FUZZ_SMALL_INDEX_H_
