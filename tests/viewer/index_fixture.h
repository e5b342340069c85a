// A synthetic trace built into an index in a new directory.
#ifndef COUNTRACE_TESTS_VIEWER_INDEX_FIXTURE_H_
#define COUNTRACE_TESTS_VIEWER_INDEX_FIXTURE_H_

#include <memory>
#include <string>

#include "tests/viewer/synthetic_trace.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

// A new directory below the system's temporary one, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct BuiltIndex {
  SyntheticTrace trace;
  std::unique_ptr<TemporaryDirectory> directory;
  std::string path;
  std::unique_ptr<TimelineIndex> index;

  std::uint64_t begin_ns() const { return trace.report.begin_ns; }
};

inline constexpr Fingerprint kTestFingerprint{
    .uuid = {1, 2, 3}, .stream_bytes = 4096, .stream_hash = 77};

// Fails the running test if the index cannot be built.
BuiltIndex BuildIndexOf(SyntheticTrace trace);
BuiltIndex BuildSyntheticIndex(const SyntheticOptions& options);

}  // namespace countrace::viewer

#endif  // COUNTRACE_TESTS_VIEWER_INDEX_FIXTURE_H_
