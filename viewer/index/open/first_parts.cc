#include "viewer/index/open/first_parts.h"

#include <algorithm>
#include <utility>

namespace countrace::viewer {

void FirstPartsBuilder::Start(std::uint64_t trace_bytes,
                              std::uint64_t first_bytes, BuildPart build) {
  const std::uint64_t most_bytes = trace_bytes / 2;
  const std::uint64_t from_bytes = std::max<std::uint64_t>(first_bytes, 1);
  if (from_bytes > most_bytes) return;
  thread_ =
      std::thread([this, from_bytes, most_bytes, build = std::move(build)] {
        // Relaxed: the flag carries no data.
        const auto goes_on = [this](const logformat::Progress&) {
          return !stop_.load(std::memory_order_relaxed);
        };
        for (std::uint64_t bytes = from_bytes; goes_on({}); bytes *= 4) {
          if (!build(bytes, goes_on).ok()) return;
          if (bytes > most_bytes / 4) return;
        }
      });
}

void FirstPartsBuilder::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

}  // namespace countrace::viewer
