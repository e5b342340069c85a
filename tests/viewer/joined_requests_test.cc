// The requests that a server keeps: who waits for them, and their order.
#include "viewer/server/tables/joined_requests.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "viewer/server/tables/trace_report.h"

namespace countrace::viewer {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST_CASE("joined requests: one question waits until the trace is read",
          "[viewer]") {
  JoinedRequests joined({"arg0", {}});
  std::vector<std::future<absl::Status>> answers;
  std::unique_lock making(MakingReport());
  for (int i = 0; i < 4; ++i) {
    answers.push_back(std::async(std::launch::async, [&joined] {
      return joined.Of("no/such.ctf").status();
    }));
  }
  const auto ready = [&answers] {
    return std::ranges::count_if(answers, [](const auto& answer) {
      return answer.wait_for(0s) == std::future_status::ready;
    });
  };
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (ready() < 3 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(1ms);
  }
  CHECK(ready() == 3);
  making.unlock();
  int cancelled = 0;
  for (auto& answer : answers) cancelled += absl::IsCancelled(answer.get());
  CHECK(cancelled == 3);
}

TEST_CASE("joined requests: ids are in order of number, then of text",
          "[viewer]") {
  const std::vector<std::string> sorted = {"-10", "-9", "9",  "10",
                                           "-",   "1x", "9x", "a"};
  rmap::Requests requests;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    requests.all.push_back({sorted[(i * 3 + 1) % sorted.size()], 0});
    requests.sums.push_back({.begin_ns = 0, .end_ns = 0});
  }
  for (const bool ascending : {true, false}) {
    const auto rows = RequestRows(requests, {0, 1}, "id", ascending);
    REQUIRE(rows);
    std::vector<std::string> ids;
    for (const auto row : *rows) ids.push_back(requests.all[row].id);
    CHECK(ids ==
          (ascending ? sorted : std::vector(sorted.rbegin(), sorted.rend())));
  }
}

}  // namespace
}  // namespace countrace::viewer
