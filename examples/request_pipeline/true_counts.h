// Counts the calls of the program without hooks, so that a report can be
// checked against them.
#ifndef REQUEST_PIPELINE_TRUE_COUNTS_H_
#define REQUEST_PIPELINE_TRUE_COUNTS_H_

#include <atomic>
#include <cstdint>
#include <cstdio>

struct TrueCounts {
  std::atomic<std::uint64_t> generate{0};
  std::atomic<std::uint64_t> request{0};
  std::atomic<std::uint64_t> parse{0};
  std::atomic<std::uint64_t> lookup{0};
  std::atomic<std::uint64_t> render{0};
  std::atomic<std::uint64_t> write{0};

  // One `segment calls` line for each segment.
  void Print() const {
    const struct {
      const char* segment;
      const std::atomic<std::uint64_t>& calls;
    } lines[] = {{"client:generate", generate}, {"server:request", request},
                 {"server:parse", parse},       {"server:lookup", lookup},
                 {"server:render", render},     {"store:write", write}};
    for (const auto& line : lines) {
      std::printf("%s %llu\n", line.segment,
                  static_cast<unsigned long long>(line.calls.load()));
    }
  }
};

#endif  // REQUEST_PIPELINE_TRUE_COUNTS_H_
