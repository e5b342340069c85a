// Indexes of the first part of a trace, each longer than the one before, while
// the index of the whole trace is built: what a reader can look at until then.
//
// Each is an index of its own, from its own pass, and takes the place of the
// one before. Together they read less than the whole trace once more, on
// another CPU.
#ifndef COUNTRACE_VIEWER_INDEX_OPEN_FIRST_PARTS_H_
#define COUNTRACE_VIEWER_INDEX_OPEN_FIRST_PARTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "logformat/progress.h"

namespace countrace::viewer {

class FirstPartsBuilder {
 public:
  // Builds and publishes the index of the first `most_bytes`; stops if
  // `goes_on` says so. Called on the builder's thread.
  using BuildPart = std::function<absl::Status(
      std::uint64_t most_bytes, const logformat::ProgressCallback& goes_on)>;

  FirstPartsBuilder() = default;
  ~FirstPartsBuilder() { Stop(); }
  FirstPartsBuilder(const FirstPartsBuilder&) = delete;
  FirstPartsBuilder& operator=(const FirstPartsBuilder&) = delete;

  // Parts of `first_bytes` and of four times as much, up to half of
  // `trace_bytes`; a shorter trace has none. The first failure ends it: the
  // whole trace's pass reports its reason.
  void Start(std::uint64_t trace_bytes, std::uint64_t first_bytes,
             BuildPart build);
  // When it returns, no further part is published.
  void Stop();

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_OPEN_FIRST_PARTS_H_
