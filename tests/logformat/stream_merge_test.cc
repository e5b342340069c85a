// The merge's order on random streams: that of a stable sort by time, then by
// stream; no stream runs ahead of another one.
#include "logformat/read/stream_merge.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>
#include <vector>

namespace countrace::logformat {
namespace {

using Item = std::pair<std::uint64_t, std::uint32_t>;  // time, stream

TEST_CASE("merge: equals a sort by time and stream", "[logformat][property]") {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<std::vector<std::uint64_t>> streams(random() % 9);
    std::vector<Item> sorted, merged;
    for (std::uint32_t i = 0; i < streams.size(); ++i) {
      std::uint64_t time_ns = 0;
      streams[i].resize(random() % 30);  // some are empty
      for (std::uint64_t& item : streams[i]) {
        item = time_ns += random() % 4;  // many are equal
        sorted.emplace_back(item, i);
      }
    }
    std::stable_sort(sorted.begin(), sorted.end());
    std::vector<std::size_t> at(streams.size());
    const auto next_ns = [&](std::size_t i) {
      return at[i] < streams[i].size() ? streams[i][at[i]] : StreamMerge::kEnd;
    };
    std::vector<std::uint64_t> first;
    for (std::size_t i = 0; i < streams.size(); ++i)
      first.push_back(next_ns(i));
    StreamMerge merge(first);
    while (!merge.at_end()) {
      const std::uint32_t i = merge.stream();
      REQUIRE(next_ns(i) < merge.limit_ns());  // else it would never end
      while (next_ns(i) < merge.limit_ns()) {
        merged.emplace_back(next_ns(i), i);
        ++at[i];
      }
      merge.Advance(next_ns(i));
    }
    REQUIRE(merged == sorted);
  }
}

TEST_CASE("merge: a stream may stop early", "[logformat][property]") {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<std::vector<std::uint64_t>> streams(1 + random() % 6);
    std::vector<std::size_t> at(streams.size());
    std::vector<std::uint64_t> first;
    std::size_t items = 0;
    for (std::vector<std::uint64_t>& stream : streams) {
      std::uint64_t time_ns = 0;
      stream.resize(random() % 20);
      items += stream.size();
      for (std::uint64_t& item : stream) item = time_ns += random() % 4;
      first.push_back(stream.empty() ? StreamMerge::kEnd : stream[0]);
    }
    StreamMerge merge(first);
    Item last = {0, 0};
    for (; !merge.at_end(); --items) {
      REQUIRE(items != 0);
      const std::uint32_t i = merge.stream();
      const Item item = {streams[i][at[i]], i};
      REQUIRE_FALSE(item < last);  // one at a time: exactly the order
      last = item;
      ++at[i];
      merge.Advance(at[i] < streams[i].size() ? streams[i][at[i]]
                                              : StreamMerge::kEnd);
    }
    REQUIRE(items == 0);
  }
}

}  // namespace
}  // namespace countrace::logformat
